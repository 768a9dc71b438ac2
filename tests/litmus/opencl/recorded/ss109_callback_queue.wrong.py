"""Rendering and download on two queues; a callback of the render's event starts the download."""

import sys
import threading

import numpy as np
import pyopencl as cl

PIXELS = 1 << 14

RENDER = """
kernel void render(global int *frame, int number)
{
    int i = get_global_id(0), v = i + number;
    for (int k = 0; k < 300; k++) v = v * 69069 + 1;
    frame[i] = v;
}
"""


class Renderer:
    def __init__(self):
        self.ctx = cl.create_some_context(interactive=False)
        self.renders, self.downloads = cl.CommandQueue(self.ctx), cl.CommandQueue(self.ctx)
        self.render = cl.Kernel(cl.Program(self.ctx, RENDER).build(), "render")
        self.frame = cl.Buffer(self.ctx, cl.mem_flags.READ_WRITE, 4 * PIXELS)

    def picture(self, number):
        ready = threading.Event()
        submitted = self.render(self.renders, (PIXELS,), None, self.frame, np.int32(number))
        submitted.set_callback(cl.command_execution_status.SUBMITTED, lambda _status: ready.set())
        self.renders.flush()
        ready.wait()
        picture = np.empty(PIXELS, np.int32)
        cl.enqueue_copy(self.downloads, picture, self.frame)  # expect: SS109
        self.renders.finish()
        return picture


def main():
    renderer = Renderer()
    bad = 0
    for number in range(3):
        want = np.arange(PIXELS, dtype=np.uint32) + np.uint32(number)
        for _ in range(300):
            want = want * np.uint32(69069) + np.uint32(1)
        bad += not np.array_equal(renderer.picture(number), want.astype(np.int32))
    print("ok" if not bad else f"{bad} pictures differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
