"""A layer keeps a buffer of zeros, and makes a larger one when a larger batch comes (vllm 50386).

The graph that was captured before has the address of the smaller one.
"""

import torch

WIDTH = 1 << 10


class Layer:
    def __init__(self):
        self.zeros = None

    def residual(self, hidden):
        count = hidden.numel()
        if self.zeros is None or self.zeros.numel() < count:
            self.zeros = torch.zeros(4096 * WIDTH, device="cuda")
        return self.zeros[:count].view_as(hidden)

    def forward(self, hidden):
        return hidden * 2.0 + self.residual(hidden)


def main():
    layer = Layer()
    hidden = torch.ones(1024, WIDTH, device="cuda")
    layer.forward(hidden)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        decoded = layer.forward(hidden)
    layer.forward(torch.ones(4096, WIDTH, device="cuda"))
    pages = [torch.full((1024, WIDTH), 7.0, device="cuda") for _ in range(24)]
    results = []
    for _ in range(10):
        graph.replay()
        results.append(float(decoded.sum()))
    wrong = sum(total != 2.0 * 1024 * WIDTH for total in results)
    print(f"{wrong} of {len(results)} results wrong ({len(pages)} pages)")


main()
