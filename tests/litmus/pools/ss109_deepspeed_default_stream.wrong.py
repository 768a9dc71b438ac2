"""Gradients go into a bucket on the reduction stream, which waits for the default stream (DeepSpeed 7898).

The backward pass ran on another one.
"""

import torch

COUNT = 1 << 18


class Bucket:
    def __init__(self, parameters):
        self.stream = torch.cuda.Stream()
        self.flat = torch.zeros(parameters * COUNT, device="cuda")
        self.filled = 0

    def add(self, grad):
        self.stream.wait_stream(torch.cuda.default_stream())
        with torch.cuda.stream(self.stream):
            self.flat.narrow(0, self.filled * COUNT, COUNT).copy_(grad)  # expect: SS109
        self.filled += 1


def backward(grad, value):
    """Write one parameter's gradient."""
    torch.cuda._sleep(10_000_000)
    grad.copy_(value)


def main():
    values = [torch.full((COUNT,), float(k + 1), device="cuda") for k in range(8)]
    grads = [torch.zeros(COUNT, device="cuda") for _ in values]
    bucket = Bucket(len(values))
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for grad, value in zip(grads, values, strict=True):
            backward(grad, value)
            bucket.add(grad)
    torch.cuda.synchronize()
    reduced = bucket.flat.view(len(values), COUNT).cpu()
    wrong = sum(bool((row != float(k + 1)).any()) for k, row in enumerate(reduced))
    print(f"{wrong} of {len(values)} results wrong")


main()
