"""Sprite recolouring: every sprite brings its own palette buffer."""

import sys

import numpy as np
import pyopencl as cl

PIXELS = 20000
SPRITES = 5

SRC = """
kernel void recolour(global const uchar *index, global const uint *palette, global uint *rgba)
{
    size_t i = get_global_id(0);
    rgba[i] = palette[index[i] & 63] | 0xff000000u;
}
"""


class Recolour:
    def __init__(self):
        self.ctx = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.ctx)
        self.kernel = cl.Kernel(cl.Program(self.ctx, SRC).build(), "recolour")
        self.index = cl.Buffer(self.ctx, cl.mem_flags.READ_ONLY, PIXELS)
        self.rgba = cl.Buffer(self.ctx, cl.mem_flags.WRITE_ONLY, 4 * PIXELS)
        self.kernel.set_arg(0, self.index)
        self.kernel.set_arg(2, self.rgba)

    def set_palette(self, colours):
        mf = cl.mem_flags
        palette = cl.Buffer(self.ctx, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=colours)
        self.kernel.set_arg(1, palette)
        palette.release()

    def draw(self, index):
        out = np.empty(PIXELS, np.uint32)
        cl.enqueue_copy(self.queue, self.index, index)
        cl.enqueue_nd_range_kernel(self.queue, self.kernel, (PIXELS,), None)  # expect: SS101
        cl.enqueue_copy(self.queue, out, self.rgba)
        return out


def make_sprite(n):
    index = ((np.arange(PIXELS) * (n + 2)) >> 3).astype(np.uint8)
    colours = ((np.arange(64, dtype=np.uint32) + n) * 263171 & 0xFFFFFF).astype(np.uint32)
    return index, colours


def main():
    rec = Recolour()
    bad = 0
    for n in range(SPRITES):
        index, colours = make_sprite(n)
        rec.set_palette(colours)
        got = rec.draw(index)
        bad += not np.array_equal(got, colours[index & 63] | np.uint32(0xFF000000))
    print("ok" if not bad else f"{bad} sprites differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
