"""A prefetcher whose host waits for each upload before it prepares the next batch, where no one needs that wait."""

import sys
import time

import torch

changed = sys.argv[1:] == ["changed"]
torch.manual_seed(0)
weights = torch.randn(4096, 4096, device="cuda")
batches = [torch.randn(4096, 4096).pin_memory() for _ in range(2)]
places = [torch.empty(4096, 4096, device="cuda") for _ in range(2)]
upload = torch.cuda.Stream()
ready = [torch.cuda.Event() for _ in range(2)]
used = [torch.cuda.Event() for _ in range(2)]


def prepares(microseconds: int) -> None:
    """Let the host do something else."""
    until = time.perf_counter_ns() + microseconds * 1000
    while time.perf_counter_ns() < until:
        pass


def turn(number: int, waits: bool) -> None:
    """Upload one batch and use it."""
    here = number % 2
    with torch.cuda.stream(upload):
        upload.wait_event(used[here])
        places[here].copy_(batches[here], non_blocking=True)
        ready[here].record()
    if waits:
        ready[here].synchronize()  # asked
    torch.cuda.current_stream().wait_event(ready[here])
    torch.mm(places[here], weights)
    used[here].record()
    prepares(2500)


for number in range(4):
    turn(number, waits=False)
torch.cuda.synchronize()
begun = time.perf_counter()
for number in range(60):
    turn(number, waits=not changed)
torch.cuda.synchronize()
print((time.perf_counter() - begun) * 1e3)
