"""Perceptron layer: weights are edited in place through a mapping between forward passes."""

import sys

import numpy as np
import pyopencl as cl

IN, OUT = 64, 256

FORWARD = """
kernel void forward(global const int *w, global const int *x, global int *y, int n)
{
    int o = get_global_id(0), s = 0;
    for (int i = 0; i < n; i++) s += w[o * n + i] * x[i];
    y[o] = max(s, 0);
}
"""


class Layer:
    def __init__(self, weights):
        self.ctx = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.ctx)
        self.fwd = cl.Kernel(cl.Program(self.ctx, FORWARD).build(), "forward")
        mf = cl.mem_flags
        self.host = weights.copy()
        self.w = cl.Buffer(self.ctx, mf.READ_WRITE | mf.USE_HOST_PTR, hostbuf=self.host)
        self.x = cl.Buffer(self.ctx, mf.READ_ONLY, 4 * IN)
        self.y = cl.Buffer(self.ctx, mf.WRITE_ONLY, 4 * OUT)

    def launch(self, x):
        cl.enqueue_copy(self.queue, self.x, x)
        self.fwd(self.queue, (OUT,), None, self.w, self.x, self.y, np.int32(IN))  # expect: SS108

    def nudge_and_forward(self, delta, x):
        flags = cl.map_flags.READ | cl.map_flags.WRITE
        view, evt = cl.enqueue_map_buffer(self.queue, self.w, flags, 0, (OUT, IN), np.int32, is_blocking=False)
        evt.wait()
        view += delta
        self.launch(x)
        view.base.release(self.queue)
        y = np.empty(OUT, np.int32)
        cl.enqueue_copy(self.queue, y, self.y)
        return y


def main():
    rng = np.random.default_rng(11)
    w = rng.integers(-9, 9, (OUT, IN), dtype=np.int32)
    layer = Layer(w)
    bad = 0
    for k in range(4):
        x = rng.integers(-50, 50, IN, dtype=np.int32)
        delta = np.int32(k - 1)
        w = w + delta
        bad += not np.array_equal(layer.nudge_and_forward(delta, x), np.maximum(w @ x, 0))
    print("ok" if not bad else f"{bad} passes differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
