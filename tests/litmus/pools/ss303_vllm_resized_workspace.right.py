"""A workspace of matrix products is resized in place when a shape needs more of it (vllm 52553).

The tensor stays the same object; its bytes are others, and the graph has the old ones.
"""

import torch

SMALL, LARGE = 1 << 20, 1 << 23


class Gemm:
    def __init__(self, count):
        self.workspace = torch.empty(count, device="cuda")
        self.retired = []

    def ensure(self, count):
        if self.workspace.numel() < count:
            self.retired.append(self.workspace)
            self.workspace = torch.empty(count, device="cuda")

    def run(self, x):
        self.ensure(x.numel())
        partial = self.workspace[: x.numel()]
        torch.add(x, 1.0, out=partial)
        return partial * 2.0


def main():
    gemm = Gemm(SMALL)
    x = torch.ones(SMALL, device="cuda")
    gemm.run(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = gemm.run(x)
    gemm.run(torch.ones(LARGE, device="cuda"))
    weights = [torch.full((SMALL,), 5.0, device="cuda") for _ in range(40)]
    wrong = 0
    for _ in range(10):
        graph.replay()
        wrong += any(bool((weight != 5.0).any()) for weight in weights)
        for weight in weights:
            weight.fill_(5.0)
    print(f"{wrong} of 10 results wrong ({float(y[0])})")


main()
