"""Two models on two streams, of which each step waits for the other though they share nothing."""

import sys
import time

import torch

changed = sys.argv[1:] == ["changed"]
torch.manual_seed(0)
left = torch.randn(512, 512, device="cuda")
right = torch.randn(512, 512, device="cuda")
streams = [torch.cuda.Stream(), torch.cuda.Stream()]
torch.cuda.synchronize()


def chain(value: torch.Tensor, stream: torch.cuda.Stream) -> None:
    """Compute for a while on a stream."""
    with torch.cuda.stream(stream):
        torch.cuda._sleep(400_000)
        torch.mm(value, value)


def turn(waits: bool) -> None:
    """Let both streams compute."""
    chain(left, streams[0])
    if waits:
        streams[1].wait_stream(streams[0])  # asked
    chain(right, streams[1])
    streams[0].wait_stream(streams[1])


for _ in range(4):
    turn(waits=False)
torch.cuda.synchronize()
begun = time.perf_counter()
for _ in range(100):
    turn(waits=not changed)
torch.cuda.synchronize()
print((time.perf_counter() - begun) * 1e3)
