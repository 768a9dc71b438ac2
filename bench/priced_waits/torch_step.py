"""A training step whose loop waits for the device before it prepares the next batch."""

import sys
import time

import torch

changed = sys.argv[1:] == ["changed"]
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
batch = torch.randn(2048, 2048, device="cuda")


def step() -> None:
    """Train on the batch once."""
    optimizer.zero_grad(set_to_none=True)
    model(batch).square().mean().backward()
    optimizer.step()


def prepares(microseconds: int) -> None:
    """Let the host do something else."""
    until = time.perf_counter_ns() + microseconds * 1000
    while time.perf_counter_ns() < until:
        pass


for _ in range(5):
    step()
torch.cuda.synchronize()
begun = time.perf_counter()
for _ in range(40):
    step()
    if not changed:
        torch.cuda.synchronize()  # asked
    prepares(3000)
torch.cuda.synchronize()
print((time.perf_counter() - begun) * 1e3)
