"""A gradient is copied to another device, and accumulated there on a stream of its own (pytorch 31930).

That stream waits for the device the gradient comes from, not for the stream in which the copy was announced here.
"""

import sys

import torch

COUNT = 1 << 22


class Stage:
    def __init__(self):
        self.backward_stream = torch.cuda.Stream(0)
        self.accumulation = torch.cuda.Stream(1)

    def backward(self, grad, received):
        self.backward_stream.wait_stream(torch.cuda.current_stream(0))
        with torch.cuda.stream(self.backward_stream):
            torch.cuda._sleep(10_000_000)
            received.copy_(grad, non_blocking=True)

    def accumulate(self, received, total):
        self.accumulation.wait_stream(torch.cuda.current_stream(1))
        with torch.cuda.stream(self.accumulation):
            total.copy_(received)


def main():
    if torch.cuda.device_count() < 2:
        print("needs two devices")
        sys.exit(0)
    stage = Stage()
    grads = [torch.full((COUNT,), float(k + 1), device="cuda:0") for k in range(8)]
    received = [torch.zeros(COUNT, device="cuda:1") for _ in grads]
    totals = [torch.zeros(COUNT, device="cuda:1") for _ in grads]
    for device in range(2):
        torch.cuda.synchronize(device)
    for grad, here, total in zip(grads, received, totals, strict=True):
        stage.backward(grad, here)
        stage.accumulate(here, total)
    for device in range(2):
        torch.cuda.synchronize(device)
    wrong = sum(bool((total != float(k + 1)).any()) for k, total in enumerate(totals))
    print(f"{wrong} of {len(totals)} results wrong")


main()
