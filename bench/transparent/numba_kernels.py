"""Numba: kernels, streams, pinned memory, events. Prints results."""

import numpy

if not hasattr(numpy, "row_stack"):  # some versions of numba-cuda name it, NumPy 2.5 has it no more
    numpy.row_stack = numpy.vstack

from numba import cuda


@cuda.jit
def add(x, y, out):
    """Add two vectors."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


host = numpy.arange(4096, dtype=numpy.float32)
x, y = cuda.to_device(host), cuda.to_device(host)
out = cuda.device_array_like(x)
stream = cuda.stream()
add[16, 256, stream](x, y, out)
stream.synchronize()
print(float(out.copy_to_host().sum()))
pinned = cuda.pinned_array(4096, dtype=numpy.float32)
pinned[:] = host
z = cuda.to_device(pinned, stream=stream)
add[16, 256, stream](z, y, out)
event = cuda.event()
event.record(stream)
event.synchronize()
print(float(out.copy_to_host().sum()), event.query())
