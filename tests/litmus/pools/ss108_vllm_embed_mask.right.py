"""The mask of multi-modal tokens is written on the host and copied without waiting (vllm 31841).

The next step writes the same buffer; with two in turn, behind an event each, it would not.
"""

import torch

TOKENS = 8192


class Mask:
    def __init__(self):
        self.turn = 0
        self.hosts = [torch.zeros(TOKENS, dtype=torch.uint8).pin_memory() for _ in range(2)]
        self.copied = [torch.cuda.Event() for _ in range(2)]
        self.device = torch.zeros(TOKENS, dtype=torch.uint8, device="cuda")

    def set(self, begin, end):
        """Mark the tokens of one request."""
        self.turn = (self.turn + 1) % len(self.hosts)
        self.copied[self.turn].synchronize()
        rows = self.hosts[self.turn].numpy()
        rows.fill(0)
        rows[begin:end] = 1
        self.device.copy_(self.hosts[self.turn], non_blocking=True)
        self.copied[self.turn].record()
        return self.device


def main():
    mask = Mask()
    counts = torch.zeros(12, dtype=torch.int64, device="cuda")
    places = torch.arange(TOKENS, device="cuda")
    counts[0] = (mask.device * places).sum()
    torch.cuda.synchronize()
    for step in range(12):
        torch.cuda._sleep(5_000_000)
        counts[step] = (mask.set(step * 10, step * 20 + 5) * places).sum()
    torch.cuda.synchronize()
    wrong = sum(got != sum(range(k * 10, k * 20 + 5)) for k, got in enumerate(counts.tolist()))
    print(f"{wrong} of 12 results wrong")


main()
