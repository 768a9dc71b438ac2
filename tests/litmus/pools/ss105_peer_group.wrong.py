"""A point-to-point group sends tensors on streams of its own (ray 57112).

The caller drops the tensor when the call returns: the pool has not been told of the group's stream.
"""

import sys

import torch

COUNT = 1 << 22


class Group:
    def __init__(self):
        self.streams = [torch.cuda.Stream(device) for device in range(2)]

    def send(self, tensor, target):
        stream = self.streams[0]
        stream.wait_stream(torch.cuda.current_stream(0))
        with torch.cuda.stream(stream):
            torch.cuda._sleep(10_000_000)
            target.copy_(tensor, non_blocking=True)


def produce(group, k, target):
    """Make a tensor and send it."""
    group.send(torch.full((COUNT,), float(k + 1), device="cuda:0"), target)  # expect: SS105


def main():
    if torch.cuda.device_count() < 2:
        print("needs two devices")
        sys.exit(0)
    group = Group()
    targets = [torch.zeros(COUNT, device="cuda:1") for _ in range(8)]
    torch.cuda.synchronize(1)
    for k, target in enumerate(targets):
        produce(group, k, target)
        torch.full((COUNT,), -1.0, device="cuda:0")
    for device in range(2):
        torch.cuda.synchronize(device)
    wrong = sum(bool((target != float(k + 1)).any()) for k, target in enumerate(targets))
    print(f"{wrong} of {len(targets)} results wrong")


main()
