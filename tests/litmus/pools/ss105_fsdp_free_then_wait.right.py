"""Parameters are freed first; their stream waits afterwards, before it takes memory again: right (FSDP2 does it)."""

import torch

COUNT = 1 << 20


class Gathered:
    def __init__(self):
        self.gather = torch.cuda.Stream()

    def unshard(self, shard):
        self.gather.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.gather):
            full = shard * 2.0
        torch.cuda.current_stream().wait_stream(self.gather)
        return full


def main():
    gathered = Gathered()
    results = []
    for k in range(8):
        shard = torch.full((COUNT,), float(k), device="cuda")
        full = gathered.unshard(shard)
        torch.cuda._sleep(5_000_000)
        results.append(full.sum(dtype=torch.float64))
        del full
    torch.cuda.synchronize()
    wrong = sum(float(total) != 2.0 * k * COUNT for k, total in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
