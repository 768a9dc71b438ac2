"""Detector read-out: work for all channels is queued up front and starts on a trigger."""

import sys

import numpy as np
import pyopencl as cl

SAMPLES = 8192
CHANNELS = 4

SRC = """
kernel void integrate(global const short *raw, global int *sum, int window)
{
    int i = get_global_id(0), s = 0;
    for (int k = 0; k < window; k++) s += raw[i + k];
    sum[i] = s;
}
"""
WINDOW = 16
OUT = SAMPLES - WINDOW


class Channel:
    def __init__(self, ctx, data):
        mf = cl.mem_flags
        self.data = data
        self.raw = cl.Buffer(ctx, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=data)
        self.sum = cl.Buffer(ctx, mf.WRITE_ONLY, 4 * OUT)
        self.host = np.zeros(OUT, np.int32)
        self.done = None

    def arm(self, queue, kernel, trigger):
        kernel.set_args(self.raw, self.sum, np.int32(WINDOW))
        evt = cl.enqueue_nd_range_kernel(queue, kernel, (OUT,), None, wait_for=[trigger])
        self.done = cl.enqueue_copy(queue, self.host, self.sum, is_blocking=False, wait_for=[evt])
        queue.flush()

    def drop(self):
        self.raw.release()
        self.sum.release()

    def check(self):
        self.done.wait()
        c = np.concatenate(([0], np.cumsum(self.data.astype(np.int64))))
        return np.array_equal(self.host, (c[WINDOW:] - c[:-WINDOW])[:OUT])


def main():
    ctx = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(ctx)
    kernel = cl.Kernel(cl.Program(ctx, SRC).build(), "integrate")
    channels = [Channel(ctx, ((np.arange(SAMPLES) * (3 * c + 1)) % 997).astype(np.int16)) for c in range(CHANNELS)]
    trigger = cl.UserEvent(ctx)
    for ch in channels:
        ch.arm(queue, kernel, trigger)
    trigger.set_status(cl.command_execution_status.COMPLETE)
    for ch in channels:
        ch.drop()
    good = all(ch.check() for ch in channels)
    print("ok" if good else "integrals differ")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
