"""A mapped view of one buffer is the source of an upload into another."""

import sys

import numpy as np
import pyopencl as cl

WORDS = 4096


def main():
    ctx = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(ctx)
    values = np.arange(WORDS, dtype=np.int32)
    source = cl.Buffer(ctx, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
    target = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, values.nbytes)
    view, _ = cl.enqueue_map_buffer(queue, source, cl.map_flags.READ, 0, (WORDS,), np.int32)
    cl.enqueue_copy(queue, target, view)
    view.base.release(queue)
    result = np.empty_like(values)
    cl.enqueue_copy(queue, result, target)
    same = np.array_equal(result, values)
    print("ok" if same else "copy differs")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
