"""Double-buffered upload: one of two pinned buffers is filled through a map while the other one is worked on."""

import sys

import numpy as np
import pyopencl as cl

COUNT = 1 << 12
ROUNDS = 6
SOURCE = """
kernel void scale(global const float *in, global float *out)
{
    int i = get_global_id(0);
    out[i] = 2.0f * in[i];
}
"""


class Uploader:
    """Two staging buffers in turn."""

    def __init__(self, context, queue):
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.ALLOC_HOST_PTR
        self.queue = queue
        self.buffers = [cl.Buffer(context, flags, 4 * COUNT) for _ in range(2)]

    def fill(self, number):
        buffer = self.buffers[number % 2]
        view, event = cl.enqueue_map_buffer(
            self.queue, buffer, cl.map_flags.WRITE_INVALIDATE_REGION, 0, COUNT, np.float32, is_blocking=False
        )
        event.wait()
        view[:] = np.arange(COUNT, dtype=np.float32) + number
        return buffer, view


def main():
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    scale = cl.Kernel(cl.Program(context, SOURCE).build(), "scale")
    uploader = Uploader(context, queue)
    out = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, 4 * COUNT)
    result = np.empty(COUNT, np.float32)
    wrong = 0
    for number in range(ROUNDS):
        buffer, view = uploader.fill(number)
        view.base.release(queue)
        scale(queue, (COUNT,), None, buffer, out)
        cl.enqueue_copy(queue, result, out)
        wrong += result[1] != 2 * (1 + number)
    print("ok" if not wrong else f"{wrong} rounds differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
