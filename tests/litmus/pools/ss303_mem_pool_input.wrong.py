# The input of a graph is dropped in a pool of the program's own, whose next tensor gets the block.
import torch

WIDTH = 1 << 16


def capture(pool):
    with torch.cuda.use_mem_pool(pool):
        inputs = torch.ones(WIDTH, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = inputs.sum()
    return graph, result, inputs


def main():
    pool = torch.cuda.MemPool()
    graph, result, inputs = capture(pool)
    del inputs
    wrong = 0
    for k in range(5):
        with torch.cuda.use_mem_pool(pool):
            other = torch.full((WIDTH,), -1.0 - k, device="cuda")
        graph.replay()  # expect: SS303
        wrong += int(float(result) != WIDTH)
        del other
    print(f"{wrong} of 5 results wrong")


main()
