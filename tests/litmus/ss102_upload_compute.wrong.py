"""Upload on one stream, compute on another, release on the first."""

import ctypes

import numpy as np
from cuda.bindings import driver
from cuda.bindings import runtime as cudart
from gpu_common import check, load_kernel

SOURCE = r"""
extern "C" __global__ void scale(float* out, const float* in, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}
"""
N = 4096
NBYTES = N * 4


def scale(out, values, factor, n):
    out[:n] = factor * values[:n]


SIMULATED_KERNELS = {"scale": scale}


def main():
    kernel = load_kernel(SOURCE, "scale")
    upload = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    compute = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    ready = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
    host = check(cudart.cudaMallocHost(NBYTES))
    ctypes.memset(host, 0, NBYTES)
    result = check(cudart.cudaMallocAsync(NBYTES, compute))

    batch = check(cudart.cudaMallocAsync(NBYTES, upload))
    check(cudart.cudaMemcpyAsync(batch, host, NBYTES, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice, upload))
    check(cudart.cudaEventRecord(ready, upload))
    check(cudart.cudaStreamWaitEvent(compute, ready, 0))
    arguments = (
        (result, batch, np.float32(0.5), np.int32(N)),
        (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_int),
    )
    check(driver.cuLaunchKernel(kernel, N // 256, 1, 1, 256, 1, 1, 0, compute, arguments, 0))
    check(cudart.cudaFreeAsync(batch, upload))  # expect: SS102
    check(cudart.cudaMemcpyAsync(host, result, NBYTES, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost, compute))
    check(cudart.cudaFreeAsync(result, compute))
    check(cudart.cudaStreamSynchronize(compute))
    check(cudart.cudaStreamSynchronize(upload))
    check(cudart.cudaFreeHost(host))
    check(cudart.cudaEventDestroy(ready))
    check(cudart.cudaStreamDestroy(upload))
    check(cudart.cudaStreamDestroy(compute))


if __name__ == "__main__":
    main()
