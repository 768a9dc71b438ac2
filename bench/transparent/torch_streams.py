"""PyTorch: a net in mixed precision, graphed callables, a batch copied ahead, results read late. Prints results."""

import torch


class Ahead:
    """Copies the next batch on a stream of its own while the present one is used."""

    def __init__(self, batches: list[torch.Tensor]) -> None:
        self._batches = iter(batches)
        self._stream = torch.cuda.Stream()
        self._next: torch.Tensor | None = None
        self._load()

    def _load(self) -> None:
        batch = next(self._batches, None)
        if batch is None:
            self._next = None
            return
        with torch.cuda.stream(self._stream):
            self._next = batch.cuda(non_blocking=True).float() / 255

    def batch(self) -> torch.Tensor | None:
        """Return the next batch; None after the last."""
        torch.cuda.current_stream().wait_stream(self._stream)
        batch = self._next
        if batch is not None:
            batch.record_stream(torch.cuda.current_stream())
        self._load()
        return batch


def net() -> torch.nn.Module:
    """Make a small convolutional net."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(32, 10),
    ).cuda()


def trained() -> None:
    """Train with mixed precision, and keep each loss in pinned memory."""
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler()
    batches = [torch.randint(0, 256, (16, 3, 32, 32), dtype=torch.uint8).pin_memory() for _ in range(6)]
    targets = torch.randint(0, 10, (16,)).cuda()
    losses = torch.empty(len(batches), pin_memory=True)
    ahead = Ahead(batches)
    step = 0
    while (batch := ahead.batch()) is not None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda"):
            loss = torch.nn.functional.cross_entropy(model(batch), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses[step].copy_(loss.detach(), non_blocking=True)
        step += 1
    torch.cuda.synchronize()
    print("trained", step, bool(torch.isfinite(losses).all()))


def graphed() -> None:
    """Capture a layer and its gradients, and train with the graphs."""
    layer = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).cuda()
    sample = torch.randn(8, 64, device="cuda", requires_grad=True)
    fast = torch.cuda.make_graphed_callables(layer, (sample,))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        loss = fast(torch.ones(8, 64, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
    print("graphed", bool(torch.isfinite(loss)))
    static = torch.zeros(1 << 14, device="cuda")
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.graph(graph):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            left = static[: 1 << 13] * 2
        right = static[1 << 13 :] * 3
        torch.cuda.current_stream().wait_stream(side)
        both = torch.cat([left, right])
    for number in range(3):
        static.fill_(number)
        graph.replay()
        print(both.sum().item())


def read_late() -> None:
    """Read results on the host behind events, some steps later."""
    slots = [torch.empty(1024, pin_memory=True) for _ in range(3)]
    events = [torch.cuda.Event() for _ in slots]
    sums = []
    for step in range(9):
        slot = step % 3
        if step >= 3:
            events[slot].synchronize()
            sums.append(slots[slot].sum().item())
        slots[slot].copy_(torch.full((1024,), float(step), device="cuda"), non_blocking=True)
        events[slot].record()
    torch.cuda.synchronize()
    print(sums, [slot.sum().item() for slot in slots])


torch.manual_seed(0)
trained()
graphed()
read_late()
