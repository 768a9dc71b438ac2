"""A step that reports its progress waits for the stream, also when it is captured."""

from cuda.bindings import runtime as cudart
from gpu_common import check

MODE = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal


def step(memory, stream, verbose):
    check(cudart.cudaMemsetAsync(memory, 1, 4096, stream))
    if verbose:
        check(cudart.cudaStreamSynchronize(stream))
        print("step is done")


def main():
    stream = check(cudart.cudaStreamCreate())
    memory = check(cudart.cudaMalloc(4096))
    step(memory, stream, verbose=True)
    check(cudart.cudaStreamBeginCapture(stream, MODE))
    step(memory, stream, verbose=False)
    graph = check(cudart.cudaStreamEndCapture(stream))
    executable = check(cudart.cudaGraphInstantiate(graph, 0))
    check(cudart.cudaGraphLaunch(executable, stream))
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaGraphExecDestroy(executable))
    check(cudart.cudaGraphDestroy(graph))
    check(cudart.cudaFree(memory))


if __name__ == "__main__":
    main()
