"""Arrays of pyopencl know the events of their own operations; a kernel called by hand on another queue does not."""

import sys

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

COUNT = 1 << 14

WINDOW = """
kernel void window(global const float *in, global float *out)
{
    int i = get_global_id(0), n = get_global_size(0);
    out[i] = in[i] * (i < n / 2 ? 1.0f : 0.5f);
}
"""


def main():
    ctx = cl.create_some_context(interactive=False)
    arithmetic, custom = cl.CommandQueue(ctx), cl.CommandQueue(ctx)
    window = cl.Kernel(cl.Program(ctx, WINDOW).build(), "window")
    samples = np.random.default_rng(2).integers(-8, 8, COUNT).astype(np.float32)

    signal = cl_array.to_device(arithmetic, samples, async_=True)
    arithmetic.flush()
    result = cl_array.empty(custom, COUNT, np.float32)
    window(custom, (COUNT,), None, signal.data, result.data, wait_for=signal.events)
    got = result.get()

    want = samples.copy()
    want[COUNT // 2 :] *= 0.5
    same = np.array_equal(got, want)
    print("ok" if same else "signal differs")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
