"""A filter with a scratch buffer from the stream's pool."""

import ctypes

import numpy as np
from cuda.bindings import driver
from cuda.bindings import runtime as cudart
from gpu_common import check, load_kernel

SOURCE = r"""
extern "C" __global__ void blur(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.5f * in[i];
}
"""


def blur(into, source, n):
    into[:n] = 0.5 * source[:n]


SIMULATED_KERNELS = {"blur": lambda source, into, n: blur(into, source, n)}
N = 1024
NBYTES = N * 4


def launch(kernel, stream, source, target):
    arguments = ((source, target, N), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int))
    check(driver.cuLaunchKernel(kernel, N // 256, 1, 1, 256, 1, 1, 0, stream, arguments, 0))  # expect: SS101


def main():
    kernel = load_kernel(SOURCE, "blur")
    stream = check(cudart.cudaStreamCreate())
    image = np.ones(N, dtype=np.float32)
    data = check(cudart.cudaMallocAsync(NBYTES, stream))
    scratch = check(cudart.cudaMallocAsync(NBYTES, stream))
    upload = cudart.cudaMemcpyKind.cudaMemcpyHostToDevice
    check(cudart.cudaMemcpy(data, image.ctypes.data, NBYTES, upload))
    launch(kernel, stream, data, scratch)
    check(cudart.cudaFreeAsync(scratch, stream))
    launch(kernel, stream, scratch, data)
    check(cudart.cudaFreeAsync(data, stream))
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaStreamDestroy(stream))


if __name__ == "__main__":
    main()
