"""Frames in blocks of a pool of the program's own: a frame's block goes back when the copy of it has been issued."""

from cuda.bindings import runtime as cudart
from gpu_common import check

import streamsan.pools

FRAME = 4096
FRAMES = 6


class FramePool:
    """Blocks of one allocation, the latest given back first."""

    def __init__(self, blocks):
        self.base = check(cudart.cudaMalloc(blocks * FRAME))
        self.unused = [self.base + FRAME * number for number in range(blocks)]

    def take(self):
        block = self.unused.pop()
        streamsan.pools.hand_out(block, FRAME)
        return block

    def give(self, block):
        streamsan.pools.take_back(block)
        self.unused.append(block)

    def close(self):
        check(cudart.cudaFree(self.base))


class Patterns:
    """Draws test patterns on one stream, and collects them on another."""

    def __init__(self, pool):
        self.pool = pool
        self.draw = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
        self.collect = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
        self.ready = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
        self.done = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
        self.out = check(cudart.cudaMalloc(FRAMES * FRAME))

    def run(self, number):
        block = self.pool.take()
        check(cudart.cudaMemsetAsync(block, number + 1, FRAME, self.draw))
        check(cudart.cudaEventRecord(self.ready, self.draw))
        check(cudart.cudaStreamWaitEvent(self.collect, self.ready, 0))
        target = self.out + number * FRAME
        kind = cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        check(cudart.cudaMemcpyAsync(target, block, FRAME, kind, self.collect))
        check(cudart.cudaEventRecord(self.done, self.collect))
        check(cudart.cudaStreamWaitEvent(self.draw, self.done, 0))
        self.pool.give(block)

    def close(self):
        check(cudart.cudaStreamSynchronize(self.draw))
        check(cudart.cudaStreamSynchronize(self.collect))
        check(cudart.cudaFree(self.out))
        check(cudart.cudaEventDestroy(self.ready))
        check(cudart.cudaEventDestroy(self.done))
        check(cudart.cudaStreamDestroy(self.draw))
        check(cudart.cudaStreamDestroy(self.collect))


def main():
    pool = FramePool(2)
    frames = Patterns(pool)
    for number in range(FRAMES):
        frames.run(number)
    frames.close()
    pool.close()


main()
