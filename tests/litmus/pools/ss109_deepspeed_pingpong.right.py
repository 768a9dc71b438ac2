"""Two buckets take turns: one is filled while the other is reduced (DeepSpeed 5545).

The backward pass comes back to a bucket while a slow reduction still reads it.
"""

import torch

COUNT = 1 << 20


class Buckets:
    def __init__(self):
        self.reduction = torch.cuda.Stream()
        self.buffers = [torch.zeros(COUNT, device="cuda") for _ in range(2)]
        self.reduced = [torch.cuda.Event() for _ in range(2)]
        self.turn = 0

    def fill(self, grad):
        torch.cuda.current_stream().wait_event(self.reduced[self.turn])
        self.buffers[self.turn].copy_(grad)

    def reduce(self, out):
        self.reduction.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.reduction):
            torch.cuda._sleep(15_000_000)
            out.copy_(self.buffers[self.turn])
            self.reduced[self.turn].record()
        self.turn = 1 - self.turn


def main():
    steps = 8
    grads = [torch.full((COUNT,), float(k + 1), device="cuda") for k in range(steps)]
    results = [torch.zeros(COUNT, device="cuda") for _ in range(steps)]
    buckets = Buckets()
    torch.cuda.synchronize()
    for grad, out in zip(grads, results, strict=True):
        buckets.fill(grad)
        buckets.reduce(out)
    torch.cuda.synchronize()
    wrong = sum(bool((out != float(k + 1)).any()) for k, out in enumerate(results))
    print(f"{wrong} of {steps} results wrong")


main()
