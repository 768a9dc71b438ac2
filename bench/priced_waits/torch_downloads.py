"""Results go to the host on a stream of their own; the host waits for each of them before it goes on."""

import sys
import time

import torch

changed = sys.argv[1:] == ["changed"]
torch.manual_seed(0)
state = torch.randn(2048, 2048, device="cuda")
kept = [torch.empty(2048, 2048).pin_memory() for _ in range(2)]
results = [torch.empty(2048, 2048, device="cuda") for _ in range(2)]
download = torch.cuda.Stream()
computed = [torch.cuda.Event() for _ in range(2)]
fetched = [torch.cuda.Event() for _ in range(2)]


def turn(number: int, waits: bool) -> None:
    """Compute, and fetch the result while the next turn computes."""
    here = number % 2
    current = torch.cuda.current_stream()
    current.wait_event(fetched[here])
    for _ in range(3):
        torch.mm(state, state, out=results[here])
    computed[here].record()
    with torch.cuda.stream(download):
        download.wait_event(computed[here])
        kept[here].copy_(results[here], non_blocking=True)
        fetched[here].record()
    if waits:
        download.synchronize()  # asked


for number in range(4):
    turn(number, waits=False)
torch.cuda.synchronize()
begun = time.perf_counter()
for number in range(100):
    turn(number, waits=not changed)
torch.cuda.synchronize()
print((time.perf_counter() - begun) * 1e3)
