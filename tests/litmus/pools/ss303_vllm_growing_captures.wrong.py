"""Graphs are captured for one batch size after the other, with scratch memory that grows (vllm 46067).

Each larger capture replaces the scratch memory of the graphs before it; the first decode replays the smallest.
"""

import torch

HEADS = 1 << 14


class Decoder:
    def __init__(self):
        self.scratch = torch.empty(0, device="cuda")
        self.graphs = {}

    def attend(self, query):
        if self.scratch.numel() < query.numel():
            self.scratch = torch.empty(query.numel(), device="cuda")
        middle = self.scratch[: query.numel()]
        torch.mul(query.view(-1), 2.0, out=middle)
        return middle + 1.0

    def capture(self, batch):
        query = torch.ones(batch, HEADS, device="cuda")
        self.attend(query)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = self.attend(query)
        self.graphs[batch] = graph, query, result

    def run(self, batch):
        graph, _, result = self.graphs[batch]
        graph.replay()  # expect: SS303
        return result


def main():
    decoder = Decoder()
    for batch in (64, 128):
        decoder.capture(batch)
    cache = [torch.full((64 * HEADS,), 7.0, device="cuda") for _ in range(12)]
    wrong = 0
    for _ in range(10):
        decoder.run(64)
        wrong += any(bool((page != 7.0).any()) for page in cache)
        for page in cache:
            page.fill_(7.0)
    print(f"{wrong} of 10 results wrong")


main()
