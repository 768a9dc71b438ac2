"""A worker thread fills pool memory in its own stream; the main thread frees it when the worker has ended."""

import threading

from cuda.bindings import runtime as cudart
from gpu_common import check

NBYTES = 1 << 18


class Worker(threading.Thread):
    def __init__(self, target_memory):
        super().__init__()
        self.memory = target_memory
        self.stream = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))

    def run(self):
        check(cudart.cudaSetDevice(0))
        for value in range(4):
            check(cudart.cudaMemsetAsync(self.memory, value, NBYTES, self.stream))


def main():
    stream = check(cudart.cudaStreamCreate())
    memory = check(cudart.cudaMallocAsync(NBYTES, stream))
    check(cudart.cudaStreamSynchronize(stream))
    worker = Worker(memory)
    worker.start()
    worker.join()
    check(cudart.cudaFreeAsync(memory, stream))  # expect: SS102
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaStreamSynchronize(worker.stream))


if __name__ == "__main__":
    main()
