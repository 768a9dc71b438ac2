# A prefetcher: batches are copied on a stream of their own,
# the model uses them on the current one.
import torch


class Prefetcher:
    def __init__(self, batches):
        self.batches = iter(batches)
        self.copies = torch.cuda.Stream()
        self.next = None
        self.preload()

    def preload(self):
        host = next(self.batches, None)
        if host is None:
            self.next = None
            return
        with torch.cuda.stream(self.copies):
            self.next = host.cuda(non_blocking=True)

    def __iter__(self):
        while self.next is not None:
            torch.cuda.current_stream().wait_stream(self.copies)
            batch = self.next
            batch.record_stream(torch.cuda.current_stream())
            self.preload()
            yield batch


def main():
    host = [torch.full((1 << 20,), float(k)).pin_memory() for k in range(16)]
    sums = []
    for batch in Prefetcher(host):
        torch.cuda._sleep(3_000_000)
        sums.append(batch.double().mean())
        del batch
    wrong = sum(abs(float(s) - k) > 1e-6 for k, s in enumerate(sums))
    print(f"{wrong} of {len(sums)} wrong")


main()
