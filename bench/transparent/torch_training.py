"""PyTorch: training steps, streams, events, a captured graph, and calls that fail. Prints results and statuses."""

import torch

torch.manual_seed(0)
torch.use_deterministic_algorithms(False)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, targets = torch.randn(32, 64).cuda(), torch.randint(0, 8, (32,)).cuda()
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")

side = torch.cuda.Stream()
event = torch.cuda.Event()
result = inputs * 2
event.record()
with torch.cuda.stream(side):
    side.wait_event(event)
    result = result + 1
side.synchronize()
print(f"{result.sum().item():.3f}", side.query(), event.query())

static = torch.zeros(32, 64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    doubled = static * 2
static.copy_(inputs)
graph.replay()
torch.cuda.synchronize()
print(torch.equal(doubled, inputs * 2))

try:
    torch.empty(1 << 50, device="cuda")
except RuntimeError as error:
    print(type(error).__name__)
try:
    torch.cuda.set_device(999)
except RuntimeError as error:
    print(type(error).__name__, "invalid device ordinal" in str(error))
try:
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.cuda.synchronize()  # streamsan: ignore[SS302] it must fail as it does alone
except RuntimeError as error:
    print(type(error).__name__, "captur" in str(error))
print(torch.cuda.memory_allocated() > 0, torch.cuda.current_device())
