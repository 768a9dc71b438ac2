"""CuPy: arrays, a raw kernel, streams, pools, cuBLAS and a failure. Prints results and statuses."""

import cupy

numbers = cupy.arange(1 << 16, dtype=cupy.float32)
print(float(numbers.sum()), float((numbers * 2).max()))
kernel = cupy.RawKernel(
    'extern "C" __global__ void twice(const float* x, float* y, int n)'
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }",
    "twice",
)
output = cupy.zeros_like(numbers)
stream = cupy.cuda.Stream(non_blocking=True)
cupy.cuda.Device().synchronize()
with stream:
    kernel((256,), (256,), (numbers, output, cupy.int32(numbers.size)))
stream.synchronize()
print(bool((output == numbers * 2).all()), stream.done)
matrix = cupy.ones((128, 128), dtype=cupy.float32)
print(float((matrix @ matrix)[0, 0]))
try:
    cupy.empty(1 << 50, dtype=cupy.uint8)
except cupy.cuda.memory.OutOfMemoryError:
    print("out of memory")
try:
    cupy.cuda.runtime.setDevice(99)
except cupy.cuda.runtime.CUDARuntimeError as error:
    print(error.status)
fresh = cupy.cuda.Event()
print(cupy.cuda.runtime.eventQuery(fresh.ptr))
print(cupy.get_default_memory_pool().used_bytes() > 0)
