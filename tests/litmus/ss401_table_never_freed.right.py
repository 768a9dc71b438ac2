"""A lookup table that is made and forgotten."""

import numpy as np
from cuda.bindings import runtime as cudart
from gpu_common import check


def make_table(values):
    table = check(cudart.cudaMalloc(values.nbytes))
    check(cudart.cudaMemcpy(table, values.ctypes.data, values.nbytes, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice))
    return table


def main():
    values = np.sin(np.linspace(0.0, 6.28, 256, dtype=np.float32))
    table = make_table(values)
    back = np.empty_like(values)
    check(cudart.cudaMemcpy(back.ctypes.data, table, back.nbytes, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    assert np.array_equal(values, back)
    check(cudart.cudaFree(table))


if __name__ == "__main__":
    main()
