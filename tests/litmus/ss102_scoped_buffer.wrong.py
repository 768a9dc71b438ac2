"""A context manager for device memory: it frees in the stream that it allocated in."""

from contextlib import contextmanager

from cuda.bindings import runtime as cudart
from gpu_common import check

NBYTES = 1 << 20
TO_HOST = cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost


@contextmanager
def device_buffer(nbytes, stream):
    pointer = check(cudart.cudaMallocAsync(nbytes, stream))
    try:
        yield pointer
    finally:
        check(cudart.cudaFreeAsync(pointer, stream))  # expect: SS102


def order(before, after):
    event = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
    check(cudart.cudaEventRecord(event, before))
    check(cudart.cudaStreamWaitEvent(after, event, 0))
    check(cudart.cudaEventDestroy(event))


def main():
    work = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    drain = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    host = check(cudart.cudaMallocHost(NBYTES))
    with device_buffer(NBYTES, work) as frame:
        check(cudart.cudaMemsetAsync(frame, 7, NBYTES, work))
        order(work, drain)
        check(cudart.cudaMemcpyAsync(host, frame, NBYTES, TO_HOST, drain))
    check(cudart.cudaStreamSynchronize(work))
    check(cudart.cudaStreamSynchronize(drain))
    check(cudart.cudaFreeHost(host))
    check(cudart.cudaStreamDestroy(drain))
    check(cudart.cudaStreamDestroy(work))


if __name__ == "__main__":
    main()
