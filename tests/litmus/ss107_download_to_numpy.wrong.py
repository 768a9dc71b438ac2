"""Downloads into a NumPy array (pageable memory), and frees the device memory in the order of another stream."""

import numpy as np
from cuda.bindings import runtime as cudart
from gpu_common import check

DOWNLOAD = cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost


def main():
    result = np.empty(1024, dtype=np.float32)
    compute = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    memory = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    device = check(cudart.cudaMallocAsync(result.nbytes, compute))
    check(cudart.cudaMemsetAsync(device, 0, result.nbytes, compute))
    check(cudart.cudaMemcpyAsync(result.ctypes.data, device, result.nbytes, DOWNLOAD, compute))
    check(cudart.cudaFreeAsync(device, memory))  # expect: SS107
    check(cudart.cudaDeviceSynchronize())
    check(cudart.cudaStreamDestroy(memory))
    check(cudart.cudaStreamDestroy(compute))
    print(result.sum())


if __name__ == "__main__":
    main()
