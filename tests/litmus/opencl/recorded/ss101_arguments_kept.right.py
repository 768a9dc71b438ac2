"""Filter bank: the arguments of a kernel stay set between calls, its coefficients are swapped."""

import sys

import numpy as np
import pyopencl as cl

TAPS, SAMPLES = 8, 4096

FIR = """
kernel void fir(global const int *x, global const int *taps, global int *y)
{
    int i = get_global_id(0), s = 0;
    for (int k = 0; k < 8; k++) s += taps[k] * x[i + k];
    y[i] = s;
}
"""


class Bank:
    def __init__(self, signal):
        self.ctx = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.ctx)
        self.fir = cl.Kernel(cl.Program(self.ctx, FIR).build(), "fir")
        flags = cl.mem_flags
        self.signal = cl.Buffer(self.ctx, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=signal)
        self.output = cl.Buffer(self.ctx, flags.WRITE_ONLY, 4 * SAMPLES)
        self.taps = None
        self.fir.set_arg(0, self.signal)
        self.fir.set_arg(2, self.output)

    def load(self, taps):
        fresh = cl.Buffer(self.ctx, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=taps)
        self.fir.set_arg(1, fresh)
        if self.taps is None:
            self.fir.set_arg(1, fresh)
        else:
            self.taps.release()
        self.taps = fresh

    def run(self):
        cl.enqueue_nd_range_kernel(self.queue, self.fir, (SAMPLES,), None)
        y = np.empty(SAMPLES, np.int32)
        cl.enqueue_copy(self.queue, y, self.output)
        return y


def main():
    rng = np.random.default_rng(1)
    signal = rng.integers(-50, 50, SAMPLES + TAPS, dtype=np.int32)
    bank = Bank(signal)
    bad = 0
    for _ in range(3):
        taps = rng.integers(-9, 9, TAPS, dtype=np.int32)
        bank.load(taps)
        want = np.convolve(signal, taps[::-1], mode="valid")[:SAMPLES]
        bad += not np.array_equal(bank.run(), want)
    print("ok" if not bad else f"{bad} voices differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
