"""A service makes a graph for each request; launches free what the last one left, but who frees after the last?"""

from cuda.bindings import runtime as cudart
from gpu_common import check

MODE = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
AUTO_FREE = cudart.cudaGraphInstantiateFlags.cudaGraphInstantiateFlagAutoFreeOnLaunch
NBYTES = 1 << 16


class Request:
    def __init__(self, stream):
        self.stream = stream
        check(cudart.cudaStreamBeginCapture(stream, MODE))
        self.scratch = check(cudart.cudaMallocAsync(NBYTES, stream))  # expect: SS402
        check(cudart.cudaMemsetAsync(self.scratch, 1, NBYTES, stream))
        self.graph = check(cudart.cudaStreamEndCapture(stream))
        self.executable = check(cudart.cudaGraphInstantiate(self.graph, AUTO_FREE))

    def serve(self, times):
        for _ in range(times):
            check(cudart.cudaGraphLaunch(self.executable, self.stream))
        check(cudart.cudaStreamSynchronize(self.stream))

    def close(self):
        check(cudart.cudaGraphExecDestroy(self.executable))
        check(cudart.cudaGraphDestroy(self.graph))


def main():
    stream = check(cudart.cudaStreamCreate())
    for times in (1, 3):
        request = Request(stream)
        request.serve(times)
        request.close()
    check(cudart.cudaDeviceGraphMemTrim(0))
    check(cudart.cudaStreamDestroy(stream))


if __name__ == "__main__":
    main()
