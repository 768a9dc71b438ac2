"""A model runs in pieces: captured ones, and between them one that runs eagerly (TensorRT-LLM 13354).

The eager piece returns a fresh tensor each time. The next captured piece reads the one it was captured with.
"""

import torch

COUNT = 1 << 20


class Piece:
    """A captured function of one tensor."""

    def __init__(self, function, example):
        function(example)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.output = function(example)

    def __call__(self, x):
        self.graph.replay()  # expect: SS303
        return self.output


def routed(x, k):
    """Return what depends on the data: it is not captured."""
    return x * float(k)


def main():
    x = torch.ones(COUNT, device="cuda")
    last = Piece(lambda hidden: hidden + 1.0, routed(x, 1))
    noise = [torch.full((COUNT,), -50.0, device="cuda") for _ in range(8)]
    results = []
    for k in range(10):
        hidden = routed(x, k)
        results.append(last(hidden).clone())
    torch.cuda.synchronize()
    wrong = sum(bool((y != k + 1.0).any()) for k, y in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong ({len(noise)} others)")


main()
