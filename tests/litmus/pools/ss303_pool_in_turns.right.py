"""Eager work and captures have one private pool in turns: what a graph has there stays the graph's."""

import torch

WIDTH = 1 << 16


def main():
    pool = torch.cuda.MemPool()
    stream = torch.cuda.Stream()
    static = torch.zeros(WIDTH, device="cuda")
    torch.cuda.synchronize()
    graphs, results = [], []
    with torch.cuda.stream(stream):
        for _ in range(2):
            with torch.cuda.use_mem_pool(pool):
                warm = (static * 2.0 + 1.0).sum()
            del warm
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool.id, stream=stream):
                result = (static * 2.0 + 1.0).sum()
            graphs.append((graph, result))
        for k in range(6):
            graph, result = graphs[k % 2]
            static.fill_(float(k))
            graph.replay()
            results.append(result.clone())
            with torch.cuda.use_mem_pool(pool):
                scratch = static * 3.0
            del scratch
    torch.cuda.synchronize()
    wrong = sum(float(result) != WIDTH * (2.0 * k + 1.0) for k, result in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
