"""One captured step, instantiated for each of two streams."""

from cuda.bindings import runtime as cudart
from gpu_common import check

MODE = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal
NBYTES = 4096


def capture(stream):
    check(cudart.cudaStreamBeginCapture(stream, MODE))
    scratch = check(cudart.cudaMallocAsync(NBYTES, stream))
    check(cudart.cudaMemsetAsync(scratch, 1, NBYTES, stream))
    check(cudart.cudaFreeAsync(scratch, stream))
    return check(cudart.cudaStreamEndCapture(stream))


def main():
    streams = [check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking)) for _ in range(2)]
    graph = capture(streams[0])
    executables = [check(cudart.cudaGraphInstantiate(graph, 0)) for _ in streams]  # expect: SS306
    for executable, stream in zip(executables, streams, strict=True):
        check(cudart.cudaGraphLaunch(executable, stream))
    for stream in streams:
        check(cudart.cudaStreamSynchronize(stream))


if __name__ == "__main__":
    main()
