"""Histogram whose bins are cleared by the host through a mapping, frame by frame."""

import sys

import numpy as np
import pyopencl as cl

PIXELS, BINS = 1 << 14, 256

COUNT = """
kernel void count(global const uchar *pixels, global int *bins)
{
    atomic_inc(&bins[pixels[get_global_id(0)]]);
}
"""


def histogram(ctx, queue, kernel, pixels, bins, frame):
    cl.enqueue_copy(queue, pixels, frame)
    view, _ = cl.enqueue_map_buffer(queue, bins, cl.map_flags.WRITE, 0, (BINS,), np.int32)
    view[:] = 0
    view.base.release(queue)
    kernel(queue, (PIXELS,), None, pixels, bins)
    counts, _ = cl.enqueue_map_buffer(queue, bins, cl.map_flags.READ, 0, (BINS,), np.int32)
    with counts.base:
        return counts.copy()


def main():
    ctx = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(ctx)
    kernel = cl.Kernel(cl.Program(ctx, COUNT).build(), "count")
    pixels = cl.Buffer(ctx, cl.mem_flags.READ_ONLY, PIXELS)
    bins = cl.Buffer(ctx, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, 4 * BINS)
    rng = np.random.default_rng(8)
    bad = 0
    for _ in range(3):
        frame = rng.integers(0, BINS, PIXELS).astype(np.uint8)
        counts = histogram(ctx, queue, kernel, pixels, bins, frame)
        bad += not np.array_equal(counts, np.bincount(frame, minlength=BINS))
    print("ok" if not bad else f"{bad} histograms differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
