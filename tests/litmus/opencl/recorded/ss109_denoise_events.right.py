"""Temporal denoiser: frames are uploaded on one queue and blended into a running mean on another."""

import sys

import numpy as np
import pyopencl as cl

PIXELS = 320 * 180
FRAMES = 9
SLOTS = 2

KERNEL = """
kernel void blend(global const uchar *frame, global int *mean)
{
    size_t i = get_global_id(0);
    mean[i] += ((frame[i] << 8) - mean[i]) / 4;
}
"""


def make_frames():
    base = np.arange(PIXELS, dtype=np.uint32)
    return [((base * (7 + 2 * k) + k * 13) >> 2).astype(np.uint8) for k in range(FRAMES)]


def reference(frames):
    mean = np.zeros(PIXELS, np.int32)
    for f in frames:
        d = (f.astype(np.int32) << 8) - mean
        mean += np.sign(d) * (np.abs(d) // 4)
    return mean


class Denoiser:
    def __init__(self, ctx):
        self.copy_q = cl.CommandQueue(ctx)
        self.blend_q = cl.CommandQueue(ctx)
        self.blend = cl.Kernel(cl.Program(ctx, KERNEL).build(), "blend")
        mf = cl.mem_flags
        self.slots = [cl.Buffer(ctx, mf.READ_ONLY, PIXELS) for _ in range(SLOTS)]
        self.mean = cl.Buffer(ctx, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=np.zeros(PIXELS, np.int32))
        self.uploaded = [None] * SLOTS
        self.blended = [None] * SLOTS
        self.keep = []

    def feed(self, number, frame):
        s = number % SLOTS
        before = [self.blended[s]] if self.blended[s] is not None else None
        self.uploaded[s] = cl.enqueue_copy(self.copy_q, self.slots[s], frame, is_blocking=False, wait_for=before)
        self.copy_q.flush()
        self.keep.append(self.uploaded[s])
        gate = self.uploaded[s]
        both = self.slots[s], self.mean
        self.blended[s] = self.blend(self.blend_q, (PIXELS,), None, *both, wait_for=[gate])
        self.blend_q.flush()

    def result(self):
        out = np.empty(PIXELS, np.int32)
        cl.enqueue_copy(self.blend_q, out, self.mean)
        return out


def main():
    frames = make_frames()
    den = Denoiser(cl.create_some_context(interactive=False))
    for i, f in enumerate(frames):
        den.feed(i, f)
    good = np.array_equal(den.result(), reference(frames))
    print("ok" if good else "mean differs")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
