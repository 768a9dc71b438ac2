"""A test harness that resets the device after each case."""

from cuda.bindings import runtime as cudart
from gpu_common import check


def case_fill(stream):
    data = check(cudart.cudaMalloc(4096))
    check(cudart.cudaMemsetAsync(data, 1, 4096, stream))
    return data


def run(case):
    stream = check(cudart.cudaStreamCreate())
    case(stream)
    check(cudart.cudaDeviceReset())  # expect: SS106


if __name__ == "__main__":
    run(case_fill)
