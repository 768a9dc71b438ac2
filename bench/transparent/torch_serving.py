"""PyTorch: decoding by graphs of several sizes in one pool, results fetched on another stream. Prints results."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

WIDTH, SIZES = 256, (8, 4, 2, 1)


class Runner:
    """A model captured once for each batch size."""

    def __init__(self) -> None:
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH))
        self.model = self.model.cuda().eval()
        self.pool = torch.cuda.graph_pool_handle()
        self.fetches = torch.cuda.Stream()
        self.graphs = {size: self.captured(size) for size in SIZES}

    def captured(self, size: int) -> tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]:
        """Capture the model for one batch size."""
        tokens = torch.zeros(size, WIDTH, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.model(tokens)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            logits = self.model(tokens)
        return graph, tokens, logits

    def step(self, batch: torch.Tensor) -> tuple[torch.Tensor, torch.cuda.Event]:
        """Run one batch; the result is on the host when the event has happened."""
        size = next(size for size in reversed(SIZES) if size >= len(batch))
        graph, tokens, logits = self.graphs[size]
        tokens[: len(batch)].copy_(batch, non_blocking=True)
        graph.replay()
        best = logits[: len(batch)].argmax(dim=1)
        host = torch.empty(len(batch), dtype=best.dtype, pin_memory=True)
        self.fetches.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.fetches):
            host.copy_(best, non_blocking=True)
            done = torch.cuda.Event()
            done.record()
        best.record_stream(self.fetches)
        return host, done


@torch.inference_mode()
def main() -> None:
    """Serve batches a step ahead of their results, then from threads with a stream each."""
    torch.manual_seed(0)
    runner = Runner()
    pending: list[tuple[torch.Tensor, torch.cuda.Event]] = []
    served = 0
    for number in range(24):
        batch = torch.randn(number % 8 + 1, WIDTH).pin_memory()
        pending.append(runner.step(batch))
        if len(pending) > 1:
            host, done = pending.pop(0)
            done.synchronize()
            served += len(host.tolist())
    pending[0][1].synchronize()
    print("served", served + len(pending[0][0]))

    @torch.inference_mode()
    def request(number: int) -> bool:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.default_stream())
        with torch.cuda.stream(stream):
            result = runner.model(torch.full((4, WIDTH), float(number)).pin_memory().cuda(non_blocking=True)).sum(dim=1)
            host = result.to("cpu", non_blocking=False)
        return bool(torch.isfinite(host).all())

    torch.cuda.synchronize()
    with ThreadPoolExecutor(4) as pool:
        print("threads", all(pool.map(request, range(16))))


main()
