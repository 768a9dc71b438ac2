"""Groups of a model are loaded on a stream of their own and dropped after use (diffusers 12721).

The loader tells the pool of the current stream, but asks which one that is where its own is current.
"""

import torch
from torch import nn

WIDTH = 1024


class Group:
    def __init__(self, module, transfers):
        self.module = module
        self.transfers = transfers
        self.host = module.weight.data.pin_memory()

    def onload(self):
        with torch.cuda.stream(self.transfers):
            self.module.weight.data = self.host.to("cuda", non_blocking=True)
            self.module.weight.data.record_stream(torch.cuda.current_stream())
        torch.cuda.current_stream().wait_stream(self.transfers)

    def offload(self):
        self.module.weight.data = self.host  # expect: SS105

    def forward(self, x):
        self.onload()
        torch.cuda._sleep(10_000_000)
        y = self.module(x)
        self.offload()
        return y


def main():
    transfers = torch.cuda.Stream()
    groups = []
    for k in range(12):
        module = nn.Linear(WIDTH, WIDTH, bias=False)
        nn.init.constant_(module.weight, float(k))
        groups.append(Group(module, transfers))
    x = torch.ones(64, WIDTH, device="cuda")
    x @ x.T
    torch.cuda.synchronize()
    with torch.no_grad():
        results = [group.forward(x) for group in groups]
    torch.cuda.synchronize()
    wrong = sum(bool((y != WIDTH * float(k)).any()) for k, y in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
