"""A one-time initialisation as a graph, with scratch memory that is never given back."""

from cuda.bindings import runtime as cudart
from gpu_common import check

MODE = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal
NBYTES = 1 << 16


def initialise(table, stream):
    check(cudart.cudaStreamBeginCapture(stream, MODE))
    scratch = check(cudart.cudaMallocAsync(NBYTES, stream))  # expect: SS305
    check(cudart.cudaMemsetAsync(scratch, 1, NBYTES, stream))
    kind = cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice
    check(cudart.cudaMemcpyAsync(table, scratch, NBYTES, kind, stream))
    graph = check(cudart.cudaStreamEndCapture(stream))
    executable = check(cudart.cudaGraphInstantiate(graph, 0))
    check(cudart.cudaGraphLaunch(executable, stream))
    check(cudart.cudaStreamSynchronize(stream))
    return executable


def main():
    stream = check(cudart.cudaStreamCreate())
    table = check(cudart.cudaMalloc(NBYTES))
    initialise(table, stream)
    check(cudart.cudaFree(table))
    check(cudart.cudaStreamDestroy(stream))


if __name__ == "__main__":
    main()
