"""Frees everything it allocated with one function."""

import ctypes

from cuda.bindings import runtime as cudart
from gpu_common import check


class Allocations:
    def __init__(self):
        self.pointers = []

    def device(self, nbytes):
        self.pointers.append(check(cudart.cudaMalloc(nbytes)))
        return self.pointers[-1]

    def pinned(self, nbytes):
        self.pointers.append(check(cudart.cudaMallocHost(nbytes)))
        return self.pointers[-1]

    def release(self):
        for pointer in self.pointers:
            check(cudart.cudaFree(pointer))  # expect: SS202


def main():
    allocations = Allocations()
    device, host = allocations.device(4096), allocations.pinned(4096)
    ctypes.memset(host, 1, 4096)
    check(cudart.cudaMemcpy(device, host, 4096, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice))
    check(cudart.cudaDeviceSynchronize())
    allocations.release()


if __name__ == "__main__":
    main()
