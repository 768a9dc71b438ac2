"""A pool of streams that is closed while a task still holds one of them."""

from cuda.bindings import runtime as cudart
from gpu_common import check


class StreamPool:
    def __init__(self, size):
        self.streams = [check(cudart.cudaStreamCreate()) for _ in range(size)]
        self.next = 0

    def take(self):
        self.next += 1
        return self.streams[self.next % len(self.streams)]

    def close(self):
        for stream in self.streams:
            check(cudart.cudaStreamSynchronize(stream))
            check(cudart.cudaStreamDestroy(stream))


class Task:
    def __init__(self, stream, memory):
        self.stream, self.memory = stream, memory

    def clear(self):
        check(cudart.cudaMemsetAsync(self.memory, 0, 4096, self.stream))


def main():
    pool = StreamPool(2)
    memory = check(cudart.cudaMalloc(4096))
    task = Task(pool.take(), memory)
    task.clear()
    pool.close()
    check(cudart.cudaDeviceSynchronize())
    check(cudart.cudaFree(memory))


if __name__ == "__main__":
    main()
