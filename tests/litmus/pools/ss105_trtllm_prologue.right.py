"""The prologue of an attention layer on three streams (TensorRT-LLM 15265).

What the auxiliary stream made is read by the indexer's stream: an event orders the reading, and nothing tells the pool.
"""

import torch

WIDTH = 1 << 20


class Prologue:
    def __init__(self):
        self.aux = torch.cuda.Stream()
        self.indexer = torch.cuda.Stream()

    def weights(self, hidden):
        with torch.cuda.stream(self.aux):
            made = hidden * 2.0
            ready = torch.cuda.Event()
            ready.record()
        return made, ready

    def forward(self, hidden):
        self.aux.wait_stream(torch.cuda.current_stream())
        self.indexer.wait_stream(torch.cuda.current_stream())
        weights, ready = self.weights(hidden)
        with torch.cuda.stream(self.indexer):
            self.indexer.wait_event(ready)
            torch.cuda._sleep(20_000_000)
            score = weights.sum(dtype=torch.float64)
        weights.record_stream(self.indexer)
        del weights
        with torch.cuda.stream(self.aux):
            keys = torch.full_like(hidden, 1e4)
            scale = keys.amax()
        torch.cuda.current_stream().wait_stream(self.aux)
        torch.cuda.current_stream().wait_stream(self.indexer)
        return score, scale


def main():
    prologue = Prologue()
    results = []
    for k in range(10):
        hidden = torch.full((WIDTH,), float(k), device="cuda")
        results.append(prologue.forward(hidden))
    torch.cuda.synchronize()
    wrong = sum(float(score) != 2.0 * k * WIDTH for k, (score, _) in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
