"""Everything runs in one stream, and waits for itself all the same."""

from cuda.bindings import runtime as cudart
from gpu_common import check

NBYTES = 4096


def main():
    stream = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    event = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
    source = check(cudart.cudaMallocAsync(NBYTES, stream))
    target = check(cudart.cudaMallocAsync(NBYTES, stream))
    for value in range(3):
        check(cudart.cudaMemsetAsync(source, value, NBYTES, stream))
        check(cudart.cudaEventRecord(event, stream))
        check(cudart.cudaStreamWaitEvent(stream, event, 0))  # expect-note: SS504
        kind = cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        check(cudart.cudaMemcpyAsync(target, source, NBYTES, kind, stream))
    check(cudart.cudaFreeAsync(source, stream))
    check(cudart.cudaFreeAsync(target, stream))
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaStreamDestroy(stream))


if __name__ == "__main__":
    main()
