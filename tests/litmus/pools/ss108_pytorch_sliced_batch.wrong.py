"""A pool of pinned memory keeps a block until the copies from it are over (pytorch 68749).

It is told of copies by address, and knows blocks by where they begin: copies of a later slice it does not know.
"""

import torch

SLICES, COUNT = 8, 1024


class PinnedPool:
    def __init__(self):
        self.free = []
        self.events = {}

    def take(self):
        for block in self.free:
            if all(event.query() for event in self.events[block.data_ptr()]):
                self.free.remove(block)
                self.events[block.data_ptr()].clear()
                return block
        block = torch.zeros(SLICES, COUNT).pin_memory()
        self.events[block.data_ptr()] = []
        return block

    def copied_from(self, tensor):
        event = torch.cuda.Event()
        event.record()
        self.events.get(tensor.data_ptr(), []).append(event)

    def give(self, block):
        self.free.append(block)


def main():
    pool = PinnedPool()
    device = torch.zeros(10, SLICES, COUNT, device="cuda")
    spare = [pool.take() for _ in range(2)]
    for block in spare:
        pool.give(block)
    del spare, block
    torch.cuda.synchronize()
    for step in range(10):
        batch = pool.take()
        batch.numpy().fill(step + 1)  # expect: SS108
        for k in range(1, SLICES):
            torch.cuda._sleep(2_000_000)
            device[step, k].copy_(batch[k], non_blocking=True)
            pool.copied_from(batch[k])
        pool.give(batch)
    torch.cuda.synchronize()
    rows = device[:, 1:].cpu()
    wrong = sum(bool((row != step + 1).any()) for step, row in enumerate(rows))
    print(f"{wrong} of 10 results wrong")


main()
