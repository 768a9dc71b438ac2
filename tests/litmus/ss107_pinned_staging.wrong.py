"""Copies a NumPy array to the device through pinned staging memory."""

import ctypes

import numpy as np
from cuda.bindings import runtime as cudart
from gpu_common import check

UPLOAD = cudart.cudaMemcpyKind.cudaMemcpyHostToDevice


def to_device(array, stream):
    staging = check(cudart.cudaMallocHost(array.nbytes))
    ctypes.memmove(staging, array.ctypes.data, array.nbytes)
    device = check(cudart.cudaMalloc(array.nbytes))
    check(cudart.cudaMemcpyAsync(device, staging, array.nbytes, UPLOAD, stream))
    check(cudart.cudaFreeHost(staging))  # expect: SS107
    return device


def main():
    stream = check(cudart.cudaStreamCreate())
    device = to_device(np.arange(1024, dtype=np.float32), stream)
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaFree(device))
    check(cudart.cudaStreamDestroy(stream))


if __name__ == "__main__":
    main()
