"""Graphs of several batch sizes share one private pool: a later capture uses blocks of an earlier one again."""

import torch

WIDTH = 1 << 16


class Runner:
    def __init__(self):
        self.pool = torch.cuda.graph_pool_handle()
        self.graphs = {}

    def capture(self, batch):
        tokens = torch.zeros(batch, WIDTH, device="cuda")
        self.step(tokens)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            result = self.step(tokens)
        self.graphs[batch] = graph, tokens, result

    def step(self, tokens):
        hidden = tokens * 2.0
        hidden = hidden + 1.0
        return hidden.sum(dim=1)

    def run(self, tokens):
        graph, static, result = self.graphs[len(tokens)]
        static.copy_(tokens)
        graph.replay()
        return result.clone()


def main():
    runner = Runner()
    for batch in (32, 16, 8, 4):
        runner.capture(batch)
    results = []
    for k in range(12):
        batch = (4, 8, 16, 32)[k % 4]
        results.append(runner.run(torch.full((batch, WIDTH), float(k), device="cuda")))
        torch.full((batch, WIDTH), -9.0, device="cuda")
    wrong = sum(bool((row != WIDTH * (2.0 * k + 1.0)).any()) for k, row in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
