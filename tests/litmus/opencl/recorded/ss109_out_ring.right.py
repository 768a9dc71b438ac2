"""A time-stepping loop on one out-of-order queue: three buffers in a ring, each step reads two and writes the third."""

import sys

import numpy as np
import pyopencl as cl

COUNT = 1 << 13
STEPS = 9
SOURCE = """
kernel void advance(global const float *before, global const float *now, global float *next)
{
    int i = get_global_id(0);
    next[i] = 2.0f * now[i] - before[i];
}
"""


class Wave:
    """Fields in a ring, each with the event that its contents are complete with."""

    def __init__(self):
        self.context = cl.create_some_context(interactive=False)
        flags = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        self.queue = cl.CommandQueue(self.context, properties=flags)
        self.kernel = cl.Kernel(cl.Program(self.context, SOURCE).build(), "advance")
        self.fields = [cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4 * COUNT) for _ in range(3)]
        self.ready = [
            cl.enqueue_fill_buffer(self.queue, field, np.float32(number), 0, 4 * COUNT)
            for number, field in enumerate(self.fields)
        ]

    def step(self, number):
        before, now, following = (number % 3, (number + 1) % 3, (number + 2) % 3)
        waits = [self.ready[before], self.ready[now], self.ready[following]]
        buffers = [self.fields[each] for each in (before, now, following)]
        self.ready[following] = self.kernel(self.queue, (COUNT,), None, *buffers, wait_for=waits)
        return following


def main():
    wave = Wave()
    last = 0
    for number in range(STEPS):
        last = wave.step(number)
    result = np.empty(COUNT, np.float32)
    cl.enqueue_copy(wave.queue, result, wave.fields[last], wait_for=[wave.ready[last]])
    print("ok" if result[0] == 10 else "wrong")
    wave.queue.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
