"""Two kernels on an out-of-order queue and a marker between them, which tells when the first is done."""

import sys

import numpy as np
import pyopencl as cl

COUNT = 4096

STEPS = """
kernel void square(global int *x) { int i = get_global_id(0); x[i] *= x[i]; }
kernel void shift(global int *x, int by) { x[get_global_id(0)] += by; }
"""


class Steps:
    def __init__(self):
        self.ctx = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
        program = cl.Program(self.ctx, STEPS).build()
        self.square, self.shift = cl.Kernel(program, "square"), cl.Kernel(program, "shift")

    def run(self, values):
        data = cl.Buffer(self.ctx, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
        self.square(self.queue, values.shape, None, data)
        cl.enqueue_barrier(self.queue)
        self.shift(self.queue, values.shape, None, data, np.int32(7))
        self.queue.finish()
        result = np.empty_like(values)
        cl.enqueue_copy(self.queue, result, data)
        return result


def main():
    values = np.arange(COUNT, dtype=np.int32) % 1000
    same = np.array_equal(Steps().run(values), values * values + 7)
    print("ok" if same else "values differ")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
