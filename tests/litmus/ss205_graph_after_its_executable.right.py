"""Makes an executable graph, and destroys it when the graph is updated."""

from cuda.bindings import runtime as cudart
from gpu_common import check

MODE = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal


class Step:
    def __init__(self, memory, nbytes):
        self.memory, self.nbytes = memory, nbytes
        self.stream = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
        self.executable = self.capture(0)

    def capture(self, value):
        check(cudart.cudaStreamBeginCapture(self.stream, MODE))
        check(cudart.cudaMemsetAsync(self.memory, value, self.nbytes, self.stream))
        graph = check(cudart.cudaStreamEndCapture(self.stream))
        executable = check(cudart.cudaGraphInstantiate(graph, 0))
        check(cudart.cudaGraphDestroy(graph))
        return executable

    def change(self, value):
        check(cudart.cudaGraphExecDestroy(self.executable))
        self.executable = self.capture(value)

    def run(self):
        check(cudart.cudaGraphLaunch(self.executable, self.stream))


def main():
    memory = check(cudart.cudaMalloc(4096))
    step = Step(memory, 4096)
    step.run()
    step.change(1)
    step.run()
    check(cudart.cudaStreamSynchronize(step.stream))
    check(cudart.cudaFree(memory))


if __name__ == "__main__":
    main()
