"""One arena serves all scratch memory, and is replaced by a larger one when that is needed (vllm 55336).

The warm-up with the largest batch comes after the capture: the graph writes into what was the arena.
"""

import torch


class WorkspaceManager:
    def __init__(self, count):
        self.arena = torch.empty(count, device="cuda")

    def get(self, count):
        if self.arena.numel() < count:
            self.arena = None
            self.arena = torch.empty(count, device="cuda")
        return self.arena[:count]


def decode(tokens, workspaces):
    scratch = workspaces.get(tokens.numel())
    torch.mul(tokens, 3.0, out=scratch)
    return scratch + 1.0


def main():
    small, large = 1 << 20, 1 << 22
    workspaces = WorkspaceManager(small)
    tokens = torch.ones(small, device="cuda")
    warm = torch.ones(large, device="cuda")
    decode(warm, workspaces)
    decode(tokens, workspaces)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        decoded = decode(tokens, workspaces)
    cache = [torch.full((small,), 7.0, device="cuda") for _ in range(24)]
    wrong = 0
    for _ in range(10):
        graph.replay()
        wrong += any(bool((page != 7.0).any()) for page in cache)
        for page in cache:
            page.fill_(7.0)
    print(f"{wrong} of 10 results wrong ({float(decoded[0])})")


main()
