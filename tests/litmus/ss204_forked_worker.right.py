"""Looks how many devices there are, then forks a worker for each."""

import os

from cuda.bindings import runtime as cudart
from gpu_common import check


def worker(device):
    check(cudart.cudaSetDevice(device))
    data = check(cudart.cudaMalloc(4096))
    check(cudart.cudaMemset(data, 0, 4096))
    check(cudart.cudaDeviceSynchronize())
    check(cudart.cudaFree(data))


def main():
    scratch = check(cudart.cudaMalloc(1024))
    worker(0)
    check(cudart.cudaFree(scratch))


if __name__ == "__main__":
    main()
    assert os.getpid() > 0
