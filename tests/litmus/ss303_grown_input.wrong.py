"""A captured step whose input buffer grows with the batch."""

from cuda.bindings import runtime as cudart
from gpu_common import check

MODE = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal


class Buffer:
    def __init__(self, nbytes):
        self.nbytes = nbytes
        self.pointer = check(cudart.cudaMalloc(nbytes))

    def resize(self, nbytes):
        if nbytes <= self.nbytes:
            return False
        check(cudart.cudaFree(self.pointer))
        self.__init__(nbytes)
        return True


class Model:
    def __init__(self):
        self.stream = check(cudart.cudaStreamCreate())
        self.inputs = Buffer(4096)
        self.outputs = Buffer(4096)
        self.executable = self.capture()

    def capture(self):
        kind = cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        check(cudart.cudaStreamBeginCapture(self.stream, MODE))
        check(cudart.cudaMemcpyAsync(self.outputs.pointer, self.inputs.pointer, 4096, kind, self.stream))
        return check(cudart.cudaGraphInstantiate(check(cudart.cudaStreamEndCapture(self.stream)), 0))

    def run(self, batch):
        self.inputs.resize(batch)
        check(cudart.cudaMemset(self.inputs.pointer, 1, 4096))
        check(cudart.cudaGraphLaunch(self.executable, self.stream))  # expect: SS303
        check(cudart.cudaStreamSynchronize(self.stream))


def main():
    model = Model()
    for batch in (1024, 4096, 8192):
        model.run(batch)
    check(cudart.cudaFree(model.inputs.pointer))
    check(cudart.cudaFree(model.outputs.pointer))


if __name__ == "__main__":
    main()
