"""Functions compiled with CUDA graphs: trees of graphs go back to checkpoints of their pool, in bursts of frees."""

import torch

WIDTH = 1 << 12


@torch.compile(mode="reduce-overhead")
def first(x):
    """Return half of the model."""
    return torch.relu(x * 2.0 + 1.0)


@torch.compile(mode="reduce-overhead")
def second(x):
    """Return the other half."""
    return (x - 1.0).sum(dim=1)


def main():
    results = []
    for k in range(8):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.full((64, WIDTH), float(k), device="cuda")
        middle = first(x)
        if k % 3 == 2:
            middle = middle.clone()
        results.append(second(middle).clone())
    torch.cuda.synchronize()
    wrong = sum(bool((row != WIDTH * 2.0 * k).any()) for k, row in enumerate(results))
    print(f"{wrong} of {len(results)} results wrong")


main()
