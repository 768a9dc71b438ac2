"""Hooks of a compiled backward pass fill one bucket from several streams (DeepSpeed 8061).

The reduction waits for the stream that happens to be current when the bucket is full.
"""

import torch

COUNT = 1 << 18


class Bucket:
    def __init__(self, slots):
        self.reduction = torch.cuda.Stream()
        self.flat = torch.zeros(slots * COUNT, device="cuda")
        self.reduced = torch.zeros_like(self.flat)
        self.slots = slots
        self.filled = 0

    def add(self, grad):
        self.flat.narrow(0, self.filled * COUNT, COUNT).copy_(grad)
        self.filled += 1
        if self.filled == self.slots:
            self.reduce()

    def reduce(self):
        self.reduction.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.reduction):
            self.reduced.copy_(self.flat)  # expect: SS109


def main():
    streams = [torch.cuda.Stream() for _ in range(4)]
    grads = [torch.full((COUNT,), float(k + 1), device="cuda") for k in range(4)]
    bucket = Bucket(len(grads))
    torch.cuda.synchronize()
    for k, (stream, grad) in enumerate(zip(streams, grads, strict=True)):
        with torch.cuda.stream(stream):
            if k < 3:
                torch.cuda._sleep(30_000_000)
            bucket.add(grad)
    torch.cuda.synchronize()
    reduced = bucket.reduced.view(len(grads), COUNT).cpu()
    wrong = sum(bool((row != float(k + 1)).any()) for k, row in enumerate(reduced))
    print(f"{wrong} of {len(grads)} results wrong")


main()
