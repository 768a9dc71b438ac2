"""Partial sums of batches on a ring of queues; every batch adds to one running total."""

import sys
from itertools import cycle

import numpy as np
import pyopencl as cl

BATCH, QUEUES, ROUNDS = 8192, 3, 7

ADD = """
kernel void add(global int *total, global const int *batch)
{
    int i = get_global_id(0);
    total[i] += batch[i];
}
"""


class Ring:
    def __init__(self):
        self.ctx = cl.create_some_context(interactive=False)
        self.queues = cycle([cl.CommandQueue(self.ctx) for _ in range(QUEUES)])
        self.add = cl.Kernel(cl.Program(self.ctx, ADD).build(), "add")
        self.total = cl.Buffer(self.ctx, cl.mem_flags.READ_WRITE, 4 * BATCH)
        first = next(self.queues)
        self.last = cl.enqueue_fill_buffer(first, self.total, np.int32(0), 0, 4 * BATCH)
        first.flush()

    def push(self, batch):
        queue = next(self.queues)
        device = cl.Buffer(self.ctx, cl.mem_flags.READ_ONLY, batch.nbytes)
        cl.enqueue_copy(queue, device, batch)
        added = self.add(queue, (BATCH,), None, self.total, device)  # expect: SS109
        queue.flush()
        self.last = added

    def result(self):
        total = np.empty(BATCH, np.int32)
        self.last.wait()
        cl.enqueue_copy(next(self.queues), total, self.total)  # expect: SS109
        return total


def main():
    rng = np.random.default_rng(5)
    batches = [rng.integers(0, 100, BATCH, dtype=np.int32) for _ in range(ROUNDS)]
    ring = Ring()
    for batch in batches:
        ring.push(batch)
    same = np.array_equal(ring.result(), sum(batches))
    print("ok" if same else "total differs")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
