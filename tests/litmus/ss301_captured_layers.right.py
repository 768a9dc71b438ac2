"""Captures a network whose layers allocate their own activations, and replays it."""

from cuda.bindings import runtime as cudart
from gpu_common import check

MODE = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal
NBYTES = 1 << 16


class Layer:
    def forward(self, inputs, stream):
        outputs = check(cudart.cudaMallocAsync(NBYTES, stream))
        kind = cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        check(cudart.cudaMemcpyAsync(outputs, inputs, NBYTES, kind, stream))
        return outputs


class CapturedNetwork:
    def __init__(self, layers, inputs, stream):
        self.stream = stream
        check(cudart.cudaStreamBeginCapture(stream, MODE))
        value = inputs
        for layer in layers:
            following = layer.forward(value, stream)
            if value is not inputs:
                check(cudart.cudaFreeAsync(value, stream))
            value = following
        check(cudart.cudaMemsetAsync(value, 0, NBYTES, stream))
        check(cudart.cudaFreeAsync(value, stream))
        graph = check(cudart.cudaStreamEndCapture(stream))
        self.executable = check(cudart.cudaGraphInstantiate(graph, 0))

    def replay(self):
        check(cudart.cudaGraphLaunch(self.executable, self.stream))


def main():
    stream = check(cudart.cudaStreamCreate())
    inputs = check(cudart.cudaMalloc(NBYTES))
    check(cudart.cudaMemset(inputs, 1, NBYTES))
    network = CapturedNetwork([Layer(), Layer()], inputs, stream)
    for _ in range(3):
        network.replay()
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaFree(inputs))


if __name__ == "__main__":
    main()
