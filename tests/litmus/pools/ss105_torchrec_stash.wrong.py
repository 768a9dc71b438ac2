"""Embedding tables are stashed in host memory between steps (torchrec 4231).

The table's device memory goes back to the pool right after its download was queued on a stream of its own.
"""

import torch

ROWS = 1 << 20


class Stash:
    """Host copies of tables whose device memory is given up."""

    def __init__(self):
        self.downloads = torch.cuda.Stream()
        self.hosts = []

    def put(self, table):
        host = torch.empty(table.shape, dtype=table.dtype, pin_memory=True)
        self.downloads.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.downloads):
            torch.cuda._sleep(20_000_000)
            host.copy_(table, non_blocking=True)
        table.untyped_storage().resize_(0)  # expect: SS105
        self.hosts.append(host)


def step():
    """Return what another part of the model computes meanwhile."""
    activations = torch.full((ROWS,), -1.0, device="cuda")
    return activations.mul_(2.0)


def main():
    stash = Stash()
    for k in range(10):
        table = torch.full((ROWS,), float(k), device="cuda")
        stash.put(table)
        step()
    torch.cuda.synchronize()
    wrong = sum(bool((host != float(k)).any()) for k, host in enumerate(stash.hosts))
    print(f"{wrong} of {len(stash.hosts)} results wrong")


main()
