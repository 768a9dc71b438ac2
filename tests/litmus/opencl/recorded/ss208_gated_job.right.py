"""A job is prepared behind a user event; what it no longer needs is dropped before the start."""

import sys

import numpy as np
import pyopencl as cl

WORDS = 4096

SCALE = """
kernel void scale(global const int *in, global int *out, int by)
{
    out[get_global_id(0)] = in[get_global_id(0)] * by;
}
"""


class Job:
    def __init__(self, ctx, queue, values, factor):
        self.start = cl.UserEvent(ctx)
        self.source = cl.Buffer(ctx, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
        self.target = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, values.nbytes)
        self.result = np.empty_like(values)
        self.scale = cl.Kernel(cl.Program(ctx, SCALE).build(), "scale")
        scaled = self.scale(
            queue, values.shape, None, self.source, self.target, np.int32(factor), wait_for=[self.start]
        )
        self.fetched = cl.enqueue_copy(queue, self.result, self.target, is_blocking=False, wait_for=[scaled])
        queue.flush()

    def run(self):
        self.start.set_status(cl.command_execution_status.COMPLETE)
        self.source.release()
        self.fetched.wait()
        return self.result


def main():
    ctx = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(ctx)
    values = np.arange(WORDS, dtype=np.int32)
    same = np.array_equal(Job(ctx, queue, values, 3).run(), values * 3)
    print("ok" if same else "result differs")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
