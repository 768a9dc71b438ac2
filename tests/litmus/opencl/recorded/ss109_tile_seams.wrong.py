"""Blur in two half-images, a queue for each; the halves are sub-buffers with a seam of rows in common."""

import sys

import numpy as np
import pyopencl as cl

WIDTH, HEIGHT, SEAM = 1024, 64, 4
SOURCE = """
kernel void blur(global float *rows, int width)
{
    int x = get_global_id(0), y = get_global_id(1);
    global float *row = rows + y * width;
    row[x] = 0.5f * row[x];
}
"""


class Half:
    def __init__(self, context, image, first, rows):
        self.queue = cl.CommandQueue(context)
        self.rows = rows
        size = 4 * WIDTH
        self.part = image.get_sub_region(first * size, rows * size)

    def run(self, program, wait_for=None):
        kernel = cl.Kernel(program, "blur")
        return kernel(  # expect: SS109
            self.queue, (WIDTH, self.rows), None, self.part, np.int32(WIDTH), wait_for=wait_for
        )


def main():
    context = cl.create_some_context(interactive=False)
    program = cl.Program(context, SOURCE).build()
    pixels = np.ones((HEIGHT, WIDTH), np.float32)
    image = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=pixels)
    upper = Half(context, image, 0, HEIGHT // 2 + SEAM)
    lower = Half(context, image, HEIGHT // 2, HEIGHT // 2)
    done = [half.run(program) for half in (upper, lower)]
    cl.enqueue_copy(upper.queue, pixels, image, wait_for=done)
    print(pixels[0, 0], pixels[-1, -1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
