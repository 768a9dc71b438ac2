"""A small PyTorch training step, bound by its launches. Prints the milliseconds of a step, a median.

`mlp.py STEPS ROUNDS` runs by itself, `mlp.py serve` runs what its input asks for (served.py).
"""

import torch
from served import StandIn, workload

stand_in = StandIn()
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


workload(stand_in, step, torch.cuda.synchronize, first=30, steps=300)
