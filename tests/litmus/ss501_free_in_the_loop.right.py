"""Two streams take turns; each turn allocates a buffer and frees it while the work runs."""

from cuda.bindings import runtime as cudart
from gpu_common import check

NBYTES = 1 << 16


def main():
    streams = [check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking)) for _ in range(2)]
    for turn in range(6):
        stream = streams[turn % 2]
        data = check(cudart.cudaMallocAsync(NBYTES, stream))
        check(cudart.cudaMemsetAsync(data, turn, NBYTES, stream))
        check(cudart.cudaFreeAsync(data, stream))
    for stream in streams:
        check(cudart.cudaStreamSynchronize(stream))


if __name__ == "__main__":
    main()
