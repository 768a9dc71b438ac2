"""A stage of a pipeline sends its output to the next device, and gives its memory up at once (Megatron-LM 4047).

The send is asynchronous: its copy may still read what the next micro-batch writes.
"""

import sys

import torch

COUNT = 1 << 22


class Link:
    """Sends from the first device to the second."""

    def __init__(self):
        self.stream = torch.cuda.Stream(0)

    def isend(self, tensor, target):
        sent = torch.cuda.Event()
        self.stream.wait_stream(torch.cuda.current_stream(0))
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(10_000_000)
            target.copy_(tensor, non_blocking=True)
            sent.record()
        return sent


def main():
    if torch.cuda.device_count() < 2:
        print("needs two devices")
        sys.exit(0)
    link = Link()
    targets = [torch.zeros(COUNT, device="cuda:1") for _ in range(8)]
    torch.cuda.synchronize(1)
    for k, target in enumerate(targets):
        output = torch.full((COUNT,), float(k + 1), device="cuda:0")
        link.isend(output, target)
        output.data = torch.empty(1, device="cuda:0")  # expect: SS105
        torch.full((COUNT,), -1.0, device="cuda:0")
    for device in range(2):
        torch.cuda.synchronize(device)
    wrong = sum(bool((target != float(k + 1)).any()) for k, target in enumerate(targets))
    print(f"{wrong} of {len(targets)} results wrong")


main()
