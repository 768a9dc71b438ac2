"""An ordinary pipeline of two queues with pyopencl: one brings samples to the device, the other works on them."""

import numpy as np
import pyopencl as cl

COUNT = 1 << 16

SOURCE = """
kernel void smooth(global const float *in, global float *out)
{
    int i = get_global_id(0), last = get_global_size(0) - 1;
    out[i] = (in[max(i - 1, 0)] + in[i] + in[min(i + 1, last)]) / 3.0f;
}
"""

context = cl.create_some_context(interactive=False)
upload = cl.CommandQueue(context)
compute = cl.CommandQueue(context)
smooth = cl.Kernel(cl.Program(context, SOURCE).build(), "smooth")

samples = np.random.default_rng(0).random(COUNT, dtype=np.float32)
signal = cl.Buffer(context, cl.mem_flags.READ_ONLY, samples.nbytes)
result = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, samples.nbytes)

uploaded = cl.enqueue_copy(upload, signal, samples, is_blocking=False)
upload.flush()
smooth(compute, (COUNT,), None, signal, result)

smoothed = np.empty_like(samples)
cl.enqueue_copy(compute, smoothed, result)
uploaded.wait()
