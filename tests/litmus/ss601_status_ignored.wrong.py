"""Asks for a cache as large as the configuration says, whether there is memory for it or not."""

from cuda.bindings import runtime as cudart
from gpu_common import check

CONFIGURATION = {"cache": 1 << 50, "table": 4096}


def allocate(configuration):
    table = check(cudart.cudaMalloc(configuration["table"]))
    _, cache = cudart.cudaMalloc(configuration["cache"])  # expect-note: SS601
    return table, cache


def main():
    table, cache = allocate(CONFIGURATION)
    check(cudart.cudaMemset(table, 0, CONFIGURATION["table"]))
    check(cudart.cudaDeviceSynchronize())
    for pointer in (table, cache):
        if pointer:
            check(cudart.cudaFree(pointer))


if __name__ == "__main__":
    main()
