"""Reduced gradients are copied back on the reduction stream (DeepSpeed 7965).

The gradients that are copied to are dropped by then: the copies land in whatever the pool made of their bytes.
"""

import torch

COUNT = 1 << 20


class Reducer:
    def __init__(self):
        self.stream = torch.cuda.Stream()

    def reduce(self, grad):
        """Replace a gradient by its mean over all ranks."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(20_000_000)
            reduced = grad / 8
            grad.copy_(reduced)
        grad.record_stream(self.stream)


def micro_step(reducer, k):
    """Return activations of the next micro-batch, made while the reduction is under way."""
    grad = torch.full((COUNT,), float(k + 1), device="cuda")
    reducer.reduce(grad)
    del grad
    return torch.full((COUNT,), -float(k), device="cuda")


def main():
    reducer = Reducer()
    activations = [micro_step(reducer, k) for k in range(10)]
    torch.cuda.synchronize()
    wrong = sum(bool((made != -float(k)).any()) for k, made in enumerate(activations))
    print(f"{wrong} of {len(activations)} results wrong")


main()
