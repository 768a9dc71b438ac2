"""Two bands of a signal, each a part of one buffer and on a queue of its own."""

import sys

import numpy as np
import pyopencl as cl

BAND, ALIGN = 4096, 256


def main():
    ctx = cl.create_some_context(interactive=False)
    low, high = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    signal = np.arange(2 * BAND, dtype=np.int32)
    data = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, signal.nbytes)
    cl.enqueue_copy(low, data, signal)
    halves = signal.nbytes // 2
    first = data.get_sub_region(0, halves + ALIGN)
    second = data.get_sub_region(halves, halves)
    zero, five = np.int32(0), np.int32(5)
    cl.enqueue_fill_buffer(low, first, zero, 0, first.size)
    cl.enqueue_fill_buffer(high, second, five, 0, second.size)  # expect: SS109
    low.finish()
    high.finish()
    result = np.empty_like(signal)
    cl.enqueue_copy(low, result, data)
    same = not result[:BAND].any() and (result[BAND:] == 5).all()
    print("ok" if same else "bands differ")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
