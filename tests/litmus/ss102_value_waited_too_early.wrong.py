"""A free waits for a value that was written before the copy which still reads the memory."""

from cuda.bindings import driver
from cuda.bindings import runtime as cudart
from gpu_common import check

SIZE = 1 << 16
GEQ = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ
COPY = cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice


def main():
    work = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    memory = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    stage = check(cudart.cudaMalloc(4))
    check(cudart.cudaMemset(stage, 0, 4))
    result = check(cudart.cudaMalloc(SIZE))
    data = check(cudart.cudaMallocAsync(SIZE, work))
    check(cudart.cudaMemsetAsync(data, 1, SIZE, work))
    check(cudart.cudaDeviceSynchronize())

    check(driver.cuStreamWriteValue32(work, stage, 1, 0))
    check(cudart.cudaMemcpyAsync(result, data, SIZE, COPY, work))
    check(driver.cuStreamWriteValue32(work, stage, 2, 0))

    check(driver.cuStreamWaitValue32(memory, stage, 1, GEQ))
    check(cudart.cudaFreeAsync(data, memory))  # expect: SS102
    check(cudart.cudaDeviceSynchronize())
    check(cudart.cudaFree(result))
    check(cudart.cudaFree(stage))
    check(cudart.cudaStreamDestroy(memory))
    check(cudart.cudaStreamDestroy(work))


if __name__ == "__main__":
    main()
