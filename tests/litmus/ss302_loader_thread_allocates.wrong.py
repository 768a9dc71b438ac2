"""A loader thread allocates while the main thread captures."""

import threading

from cuda.bindings import runtime as cudart
from gpu_common import check

MODE = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal


class Loader(threading.Thread):
    def __init__(self, captures, loaded):
        super().__init__()
        self.captures, self.loaded, self.pointer = captures, loaded, None

    def run(self):
        self.captures.wait()
        _, self.pointer = cudart.cudaMalloc(4096)  # expect: SS302
        self.loaded.set()


def main():
    stream = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    memory = check(cudart.cudaMalloc(4096))
    captures, loaded = threading.Event(), threading.Event()
    loader = Loader(captures, loaded)
    loader.start()
    check(cudart.cudaStreamBeginCapture(stream, MODE))
    captures.set()
    loaded.wait()
    check(cudart.cudaMemsetAsync(memory, 1, 4096, stream))
    graph = check(cudart.cudaStreamEndCapture(stream))
    loader.join()
    executable = check(cudart.cudaGraphInstantiate(graph, 0))
    check(cudart.cudaGraphLaunch(executable, stream))
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaFree(memory))
    check(cudart.cudaFree(loader.pointer))


if __name__ == "__main__":
    main()
