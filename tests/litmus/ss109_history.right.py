"""Uploads a frame on one stream and keeps a copy of it on another."""

import ctypes

from cuda.bindings import runtime as cudart
from gpu_common import check

KIND = cudart.cudaMemcpyKind
WITHIN = KIND.cudaMemcpyDeviceToDevice
NBYTES = 1 << 16


class History:
    def __init__(self, length):
        self.stream = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
        self.frames = [check(cudart.cudaMalloc(NBYTES)) for _ in range(length)]
        self.position = 0

    def keep(self, frame, uploaded):
        check(cudart.cudaStreamWaitEvent(self.stream, uploaded, 0))
        target = self.frames[self.position % len(self.frames)]
        check(cudart.cudaMemcpyAsync(target, frame, NBYTES, WITHIN, self.stream))
        self.position += 1

    def close(self):
        check(cudart.cudaStreamSynchronize(self.stream))
        for frame in self.frames:
            check(cudart.cudaFree(frame))


def main():
    upload = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    uploaded = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
    camera = check(cudart.cudaMallocHost(NBYTES))
    ctypes.memset(camera, 1, NBYTES)
    frame = check(cudart.cudaMalloc(NBYTES))
    history = History(2)
    check(cudart.cudaMemcpyAsync(frame, camera, NBYTES, KIND.cudaMemcpyHostToDevice, upload))
    check(cudart.cudaEventRecord(uploaded, upload))
    history.keep(frame, uploaded)
    check(cudart.cudaStreamSynchronize(upload))
    history.close()
    check(cudart.cudaFree(frame))
    check(cudart.cudaFreeHost(camera))


if __name__ == "__main__":
    main()
