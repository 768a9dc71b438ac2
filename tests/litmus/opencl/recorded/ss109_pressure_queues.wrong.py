"""Pressure relaxation: boundary values arrive on an upload queue, sweeps run on a compute queue."""

import sys

import numpy as np
import pyopencl as cl

SIZE = 128
STEPS = 6

SRC = """
kernel void sweep(global const int *p, global const int *edge, global int *out, int n)
{
    int x = get_global_id(0), y = get_global_id(1), i = y * n + x;
    int l = x ? p[i - 1] : edge[y], r = x < n - 1 ? p[i + 1] : edge[n + y];
    int u = y ? p[i - n] : edge[x], d = y < n - 1 ? p[i + n] : edge[n + x];
    out[i] = (l + r + u + d) / 4;
}
"""


class Relaxer:
    def __init__(self, ctx):
        self.ctx = ctx
        self.upload = cl.CommandQueue(ctx)
        self.compute = cl.CommandQueue(ctx)
        self.sweep = cl.Kernel(cl.Program(ctx, SRC).build(), "sweep")
        mf = cl.mem_flags
        zero = np.zeros((SIZE, SIZE), np.int32)
        self.field = [cl.Buffer(ctx, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=zero) for _ in range(2)]
        self.edges = []
        self.pending = []

    def push_edge(self, edge):
        buf = cl.Buffer(self.ctx, cl.mem_flags.READ_ONLY, edge.nbytes)
        evt = cl.enqueue_copy(self.upload, buf, edge, is_blocking=False)
        self.upload.flush()
        self.pending.append(evt)
        self.edges.append(buf)
        return evt, buf

    def step(self, edge):
        evt, buf = self.push_edge(edge)
        cl.enqueue_barrier(self.upload, wait_for=[evt])
        self.sweep.set_args(self.field[0], buf, self.field[1], np.int32(SIZE))
        cl.enqueue_nd_range_kernel(self.compute, self.sweep, (SIZE, SIZE), None)  # expect: SS109
        self.field.reverse()

    def result(self):
        out = np.empty((SIZE, SIZE), np.int32)
        cl.enqueue_copy(self.compute, out, self.field[0])
        return out


def reference(edges):
    p = np.zeros((SIZE, SIZE), np.int32)
    for e in edges:
        a, b = e[:SIZE], e[SIZE:]
        q = np.zeros((SIZE + 2, SIZE + 2), np.int32)
        q[1:-1, 1:-1] = p
        q[1:-1, 0], q[1:-1, -1], q[0, 1:-1], q[-1, 1:-1] = a, b, a, b
        p = (q[1:-1, :-2] + q[1:-1, 2:] + q[:-2, 1:-1] + q[2:, 1:-1]) // 4
    return p


def main():
    edges = [((np.arange(2 * SIZE) * (k + 3)) % 4001).astype(np.int32) for k in range(STEPS)]
    relaxer = Relaxer(cl.create_some_context(interactive=False))
    for e in edges:
        relaxer.step(e)
    good = np.array_equal(relaxer.result(), reference(edges))
    print("ok" if good else "pressure differs")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
