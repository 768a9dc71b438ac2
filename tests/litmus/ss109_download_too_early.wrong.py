"""A histogram: cleared in one stream, read back in another."""

import ctypes

import numpy as np
from cuda.bindings import driver
from cuda.bindings import runtime as cudart
from gpu_common import check, load_kernel

SOURCE = r"""
extern "C" __global__ void count(int* bins, const unsigned char* data, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[data[i]], 1);
}
"""
N = 4096
BINS = 256 * 4
DOWNLOAD = cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost


def count(bins, data, n):
    np.add.at(bins, data[:n], 1)


SIMULATED_KERNELS = {"count": count}


def main():
    kernel = load_kernel(SOURCE, "count")
    compute = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    transfer = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    data = check(cudart.cudaMalloc(N))
    bins = check(cudart.cudaMalloc(BINS))
    host = check(cudart.cudaMallocHost(BINS))
    check(cudart.cudaMemsetAsync(data, 3, N, compute))
    arguments = ((bins, data, N), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int))
    check(cudart.cudaMemsetAsync(bins, 0, BINS, compute))
    check(driver.cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, compute, arguments, 0))
    check(cudart.cudaMemcpyAsync(host, bins, BINS, DOWNLOAD, transfer))  # expect: SS109
    check(cudart.cudaStreamSynchronize(transfer))
    check(cudart.cudaStreamSynchronize(compute))
    check(cudart.cudaFreeHost(host))
    check(cudart.cudaFree(bins))
    check(cudart.cudaFree(data))


if __name__ == "__main__":
    main()
