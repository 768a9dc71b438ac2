"""Rows of a table are put into a cache while the batch before is looked up in it (torchrec 4191).

The stream that distributes the next batch does not wait for the stream that fills the cache.
"""

import torch

ROWS = 1 << 20


class Cache:
    def __init__(self):
        self.rows = torch.zeros(ROWS, device="cuda")
        self.prefetch_stream = torch.cuda.Stream()
        self.dist_stream = torch.cuda.Stream()

    def prefetch(self, host):
        self.prefetch_stream.wait_stream(self.dist_stream)
        with torch.cuda.stream(self.prefetch_stream):
            torch.cuda._sleep(10_000_000)
            self.rows.copy_(host, non_blocking=True)

    def distribute(self, out):
        self.dist_stream.wait_stream(self.prefetch_stream)
        with torch.cuda.stream(self.dist_stream):
            out.copy_(self.rows)


def main():
    cache = Cache()
    batches = [torch.full((ROWS,), float(k + 1)).pin_memory() for k in range(8)]
    outputs = [torch.zeros(ROWS, device="cuda") for _ in batches]
    torch.cuda.synchronize()
    for host, out in zip(batches, outputs, strict=True):
        cache.prefetch(host)
        cache.distribute(out)
    torch.cuda.synchronize()
    wrong = sum(bool((out != float(k + 1)).any()) for k, out in enumerate(outputs))
    print(f"{wrong} of {len(outputs)} results wrong")


main()
