"""Hands out slices of one arena; each owner frees what it was given."""

from cuda.bindings import runtime as cudart
from gpu_common import check

SLICE = 4096


class Arena:
    def __init__(self, slices):
        self.base = check(cudart.cudaMalloc(slices * SLICE))
        self.used = 0

    def take(self):
        pointer = int(self.base) + self.used * SLICE
        self.used += 1
        return pointer


def main():
    arena = Arena(4)
    first, second = arena.take(), arena.take()
    check(cudart.cudaMemset(first, 0, SLICE))
    check(cudart.cudaMemset(second, 1, SLICE))
    check(cudart.cudaDeviceSynchronize())
    check(cudart.cudaFree(second))  # expect: SS202


if __name__ == "__main__":
    main()
