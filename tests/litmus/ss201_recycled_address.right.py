"""Two lists own the same blocks: the second free takes a block that somebody else has by then."""

from cuda.bindings import runtime as cudart
from gpu_common import check

NBYTES = 1 << 16


def free_all(blocks):
    for block in blocks:
        check(cudart.cudaFree(block))


def main():
    blocks = [check(cudart.cudaMalloc(NBYTES)) for _ in range(2)]
    retired, blocks = blocks, []
    free_all(retired)
    results = check(cudart.cudaMalloc(NBYTES))
    free_all(blocks)
    check(cudart.cudaDeviceSynchronize())
    check(cudart.cudaFree(results))


if __name__ == "__main__":
    main()
