"""A small PyTorch training step, bound by its launches. Prints the milliseconds of a step, a median.

`mlp.py STEPS ROUNDS` runs by itself. `mlp.py serve` says "ready" and then runs, for each number it reads from its
input, that many steps and prints the milliseconds of one: so processes can run in turns. With STREAMSAN_BENCH_CUPTI, a
library that stands in for CUPTI, it also reads `on` and `off`.
"""

import ctypes
import os
import statistics
import sys
import time

import torch

# Loaded before the recorder looks for CUPTI.
stand_in = ctypes.CDLL(path) if (path := os.environ.get("STREAMSAN_BENCH_CUPTI")) else None
torch.manual_seed(0)
layers: list[torch.nn.Module] = []
for _ in range(4):
    layers += [torch.nn.Linear(512, 512), torch.nn.ReLU()]
model = torch.nn.Sequential(*layers, torch.nn.Linear(512, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
inputs = torch.randn(128, 512, device="cuda")
targets = torch.randint(0, 10, (128,), device="cuda")


def step() -> None:
    """Run one step."""
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()


def milliseconds(steps: int) -> float:
    """Run some steps and return how long one took."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps * 1e3


for _ in range(30):
    step()
if sys.argv[1:] == ["serve"]:
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() in ("on", "off") and stand_in is not None:
            torch.cuda.synchronize()
            if stand_in.streamsan_bench_switch(int(line.strip() == "on")) == 0:
                sys.exit("nothing is recorded: there is nothing to switch")
            continue
        milliseconds(3)  # what the other process has pushed out of the caches
        print(f"{milliseconds(int(line)):.4f}", flush=True)
else:
    count, rounds = (int(word) for word in (sys.argv[1:] or ["300", "5"]))
    print(f"{statistics.median(milliseconds(count) for _ in range(rounds)):.4f}")
