"""Chain of small matrix products on an out-of-order queue."""

import sys
from dataclasses import dataclass

import numpy as np
import pyopencl as cl

N = 96

MATMUL = """
kernel void mm(global const int *a, global const int *b, global int *c, int n) {
    int x = get_global_id(0), y = get_global_id(1), s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s & 0xff;
}
"""


@dataclass
class Node:
    buf: cl.Buffer
    ready: cl.Event


class Graph:
    def __init__(self):
        self.ctx = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
        self.mm = cl.Kernel(cl.Program(self.ctx, MATMUL).build(), "mm")

    def leaf(self, a):
        buf = cl.Buffer(self.ctx, cl.mem_flags.READ_WRITE, a.nbytes)
        return Node(buf, cl.enqueue_copy(self.queue, buf, a, is_blocking=False))

    def product(self, x, y):
        out = cl.Buffer(self.ctx, cl.mem_flags.READ_WRITE, 4 * N * N)
        evt = self.mm(self.queue, (N, N), None, x.buf, y.buf, out, np.int32(N), wait_for=[y.ready])  # expect: SS109
        return Node(out, evt)

    def fetch(self, node):
        host = np.empty((N, N), np.int32)
        cl.enqueue_copy(self.queue, host, node.buf, wait_for=[node.ready])
        return host


def main():
    rng = np.random.default_rng(7)
    mats = [rng.integers(0, 9, (N, N), dtype=np.int32) for _ in range(5)]
    g = Graph()
    leaves = [g.leaf(m) for m in mats]
    acc = leaves[0]
    kept = [acc]
    for leaf in leaves[1:]:
        acc = g.product(acc, leaf)
        kept.append(acc)
    got = g.fetch(acc)

    want = mats[0]
    for m in mats[1:]:
        want = (want @ m) & 0xFF
    if np.array_equal(got, want):
        print("ok")
        return 0
    print("product differs in", int((got != want).sum()), "places")
    return 1


if __name__ == "__main__":
    sys.exit(main())
