"""Allocates from the pool, and frees like plain memory."""

from cuda.bindings import runtime as cudart
from gpu_common import check


def main():
    stream = check(cudart.cudaStreamCreate())
    data = check(cudart.cudaMallocAsync(4096, stream))
    check(cudart.cudaMemsetAsync(data, 0, 4096, stream))
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaFreeAsync(data, stream))
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaStreamDestroy(stream))


if __name__ == "__main__":
    main()
