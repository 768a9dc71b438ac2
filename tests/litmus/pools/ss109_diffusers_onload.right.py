"""A group's weights are loaded on a transfer stream, and used on the default one (diffusers 13502).

Nothing makes the default stream wait for the transfer.
"""

import torch

COUNT = 1 << 22


class Group:
    def __init__(self, value, transfers):
        self.host = torch.full((COUNT,), value).pin_memory()
        self.weight = torch.zeros(COUNT, device="cuda")
        self.transfers = transfers

    def onload(self):
        with torch.cuda.stream(self.transfers):
            torch.cuda._sleep(5_000_000)
            self.weight.copy_(self.host, non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.transfers)

    def forward(self, x):
        self.onload()
        weight = self.weight.clone()
        return weight.mul_(x)


def main():
    transfers = torch.cuda.Stream()
    groups = [Group(float(k + 1), transfers) for k in range(10)]
    x = torch.full((COUNT,), 2.0, device="cuda")
    x.clone().mul_(x)
    torch.cuda.synchronize()
    results = [group.forward(x) for group in groups]
    torch.cuda.synchronize()
    wrong = sum(bool((y != 2.0 * (k + 1)).any()) for k, y in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
