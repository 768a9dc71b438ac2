"""Leaves of a model are read from files before use, and given up after it (diffusers 14657).

Offloading to memory waits for the compute stream; offloading to disk has nothing to write, and forgot to wait.
"""

import tempfile
from pathlib import Path

import torch

COUNT = 1 << 20


class Leaf:
    def __init__(self, path, value, loads):
        self.path = str(path)
        self.loads = loads
        torch.from_file(self.path, shared=True, size=COUNT).fill_(value)
        self.weight = torch.empty(0)

    def onload(self):
        stored = torch.from_file(self.path, shared=False, size=COUNT)
        with torch.cuda.stream(self.loads):
            self.weight = stored.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.loads)

    def offload(self):
        self.weight = torch.empty(0)  # expect: SS105

    def forward(self, x):
        self.onload()
        torch.cuda._sleep(20_000_000)
        y = (x * self.weight).sum(dtype=torch.float64)
        self.offload()
        return y


def main():
    loads = torch.cuda.Stream()
    x = torch.ones(COUNT, device="cuda")
    (x * x).sum(dtype=torch.float64)
    with tempfile.TemporaryDirectory() as folder:
        leaves = [Leaf(Path(folder) / f"leaf{k}.bin", float(k), loads) for k in range(10)]
        results = [leaf.forward(x) for leaf in leaves]
        torch.cuda.synchronize()
    wrong = sum(float(y) != float(k) * COUNT for k, y in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
