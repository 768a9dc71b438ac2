"""A training step whose batches come from a DataLoader with pinned memory. Prints the milliseconds of a step, a median.

`loader.py STEPS WORKERS`: after a fifth of the steps as many are measured as are left. `loader.py serve` runs what its
input asks for (served.py), without workers.
"""

import statistics
import sys
import time

import torch
from served import StandIn, serve
from torch.utils.data import DataLoader, TensorDataset

stand_in = StandIn()
served = sys.argv[1:] == ["serve"]
steps, workers = (64, 0) if served else (int(sys.argv[1]), int(sys.argv[2]))
torch.manual_seed(0)
BATCH = 128
images = torch.randn(BATCH * 32, 3, 32, 32)
labels = torch.randint(0, 10, (BATCH * 32,))
loader = DataLoader(TensorDataset(images, labels), batch_size=BATCH, num_workers=workers, pin_memory=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.Conv2d(32, 64, 3, stride=2, padding=1),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(64 * 16 * 16, 10),
).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)


def epoch() -> float:
    """Run all batches; return the milliseconds of one."""
    begin = time.perf_counter()
    for inputs, targets in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs.cuda(non_blocking=True)), targets.cuda(non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1000 / len(loader)


def milliseconds(steps: int) -> float:
    """Run as many whole epochs as these steps need; return how long a step took."""
    return statistics.mean(epoch() for _ in range(-(-steps // len(loader))))


taken = [epoch() for _ in range(-(-steps // len(loader)))]
if served:
    serve(stand_in, milliseconds, torch.cuda.synchronize, warm_up=1)
else:
    print(statistics.median(taken[max(1, len(taken) // 5) :]))
