"""A step that consumes its input: it frees it, also when it is captured."""

from cuda.bindings import runtime as cudart
from gpu_common import check

MODE = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal
NBYTES = 4096


def consume(inputs, outputs, stream):
    check(cudart.cudaMemcpyAsync(outputs, inputs, NBYTES, cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice, stream))
    check(cudart.cudaFreeAsync(inputs, stream))  # expect: SS306


def main():
    stream = check(cudart.cudaStreamCreate())
    inputs = check(cudart.cudaMallocAsync(NBYTES, stream))
    outputs = check(cudart.cudaMallocAsync(NBYTES, stream))
    check(cudart.cudaMemsetAsync(inputs, 1, NBYTES, stream))
    check(cudart.cudaStreamBeginCapture(stream, MODE))
    consume(inputs, outputs, stream)
    graph = check(cudart.cudaStreamEndCapture(stream))
    executable = check(cudart.cudaGraphInstantiate(graph, 0))
    check(cudart.cudaGraphLaunch(executable, stream))
    check(cudart.cudaFreeAsync(outputs, stream))
    check(cudart.cudaStreamSynchronize(stream))


if __name__ == "__main__":
    main()
