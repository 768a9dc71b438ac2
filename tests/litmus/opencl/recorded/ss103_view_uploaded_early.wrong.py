"""A view that a non-blocking map gave is the source of an upload on another queue."""

import sys

import numpy as np
import pyopencl as cl

WORDS = 4096

FILL = "kernel void fill(global int *x, int value) { x[get_global_id(0)] = value; }"


def main():
    ctx = cl.create_some_context(interactive=False)
    queue, uploads = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    fill = cl.Kernel(cl.Program(ctx, FILL).build(), "fill")
    source = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * WORDS)
    target = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * WORDS)
    fill(queue, (WORDS,), None, source, np.int32(9))
    view, mapped = cl.enqueue_map_buffer(queue, source, cl.map_flags.READ, 0, (WORDS,), np.int32, is_blocking=False)
    queue.flush()
    cl.enqueue_copy(uploads, target, view)  # expect: SS103
    view.base.release(queue)
    result = np.empty(WORDS, np.int32)
    cl.enqueue_copy(uploads, result, target)
    mapped.wait()
    queue.finish()
    same = (result == 9).all()
    print("ok" if same else "copy differs")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
