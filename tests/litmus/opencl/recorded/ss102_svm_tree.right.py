"""Decision tree evaluation, tree nodes in coarse-grained shared virtual memory."""

import sys

import numpy as np
import pyopencl as cl

DEPTH = 6
NODES = 2 ** (DEPTH + 1) - 1
ROWS = 1 << 15

SRC = """
kernel void classify(global const int *nodes, global const int *x, global int *leaf, int depth)
{
    int i = get_global_id(0), n = 0;
    for (int d = 0; d < depth; d++) n = 2 * n + (x[i] * (d + 1) % 1009 < nodes[n] ? 1 : 2);
    leaf[i] = n;
}
"""


class Forest:
    def __init__(self):
        self.ctx = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.ctx)
        self.kernel = cl.Kernel(cl.Program(self.ctx, SRC).build(), "classify")

    def load(self, nodes):
        svm = cl.SVMAllocation(self.ctx, nodes.nbytes, 64, cl.svm_mem_flags.READ_WRITE)
        cl.enqueue_copy(self.queue, svm, nodes)
        return svm

    def start(self, tree, x, leaf):
        self.kernel.set_args(tree, x, leaf, np.int32(DEPTH))
        evt = cl.enqueue_nd_range_kernel(self.queue, self.kernel, (ROWS,), None)
        self.queue.flush()
        return evt

    def unload(self, tree, running):
        running.wait()
        tree.release()


def reference(nodes, x):
    n = np.zeros(ROWS, np.int64)
    for d in range(DEPTH):
        n = 2 * n + np.where(x.astype(np.int64) * (d + 1) % 1009 < nodes[n], 1, 2)
    return n


def main():
    forest = Forest()
    mf = cl.mem_flags
    x = ((np.arange(ROWS) * 7919) % 100003 % 20011).astype(np.int32)
    dx = cl.Buffer(forest.ctx, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=x)
    leaf = cl.Buffer(forest.ctx, mf.WRITE_ONLY, 4 * ROWS)
    got = np.empty(ROWS, np.int32)
    bad = 0
    for t in range(3):
        nodes = ((np.arange(NODES) * (97 + t)) % 1009).astype(np.int32)
        tree = forest.load(nodes)
        forest.unload(tree, forest.start(tree, dx, leaf))
        cl.enqueue_copy(forest.queue, got, leaf)
        bad += not np.array_equal(got, reference(nodes, x))
    print("ok" if not bad else f"{bad} trees differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
