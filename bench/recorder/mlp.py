"""A small PyTorch training step, bound by its launches. Prints the milliseconds of a step, a median."""

import statistics
import sys
import time

import torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 300
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5

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


for _ in range(30):
    step()
torch.cuda.synchronize()
rounds = []
for _ in range(ROUNDS):
    begin = time.perf_counter()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    rounds.append((time.perf_counter() - begin) / STEPS * 1e3)
print(f"{statistics.median(rounds):.4f}")
