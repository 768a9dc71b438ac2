"""Several streams share a workspace that the first of them allocated."""

from cuda.bindings import runtime as cudart
from gpu_common import check

SLICE = 1 << 16


class Workspace:
    def __init__(self, parts, owner):
        self.pointer = check(cudart.cudaMallocAsync(parts * SLICE, owner))
        self.owner = owner
        self.ready = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
        check(cudart.cudaEventRecord(self.ready, owner))

    def part(self, index, stream):
        check(cudart.cudaStreamWaitEvent(stream, self.ready, 0))
        return int(self.pointer) + index * SLICE

    def close(self, users):
        for stream in users:
            check(cudart.cudaStreamSynchronize(stream))
        check(cudart.cudaFreeAsync(self.pointer, self.owner))


def main():
    streams = [check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking)) for _ in range(3)]
    workspace = Workspace(len(streams), streams[0])
    for index, stream in enumerate(streams):
        check(cudart.cudaMemsetAsync(workspace.part(index, stream), 0, SLICE, stream))
    workspace.close(streams)
    check(cudart.cudaStreamSynchronize(streams[0]))


if __name__ == "__main__":
    main()
