"""A pool merges its streams' lists of free blocks, and forgets whose work the blocks still wait for (rmm 2489).

Each list has an event behind what was given back to it. The stream that takes over a list waits for its event, and
records its own anew.
"""

import cupy as cp
import rmm

COUNT = 1 << 20
BLOCK = 4 * COUNT
BLOCKS = 4

SLOW_SUM = cp.RawKernel(
    r"""
extern "C" __global__ void slow_sum(const float* data, double* total, int count) {
    long long start = clock64();
    while (clock64() - start < 20000000) { }
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += data[i];
    atomicAdd(total, sum);
}
""",
    "slow_sum",
)


class MergingPool:
    def __init__(self, streams):
        self.streams = {stream.ptr: stream for stream in streams}
        self.upstream = rmm.mr.CudaMemoryResource()
        self.region = self.upstream.allocate((1 + BLOCKS) * BLOCK)
        self.large = self.region + BLOCK
        self.free = {number: [] for number in self.streams}
        self.behind = {number: cp.cuda.Event() for number in self.streams}
        self.free[streams[0].ptr].append(self.region)

    def allocate(self, size, stream):
        number = stream.__cuda_stream__()[1]
        if size > BLOCK:
            self.merge(number)  # a larger block may come out of it
            return self.large
        if not self.free[number]:
            other = next(each for each, blocks in self.free.items() if blocks)
            self.streams[number].wait_event(self.behind[other])
            return self.free[other].pop()
        return self.free[number].pop()

    def merge(self, number):
        for other, blocks in self.free.items():
            if other != number and blocks:
                self.streams[number].wait_event(self.behind[other])
                self.free[number] += blocks
                blocks.clear()
                self.behind[number].record(self.streams[number])

    def deallocate(self, block, size, stream):
        if size > BLOCK:
            return
        number = stream.__cuda_stream__()[1]
        self.behind[number].record(self.streams[number])
        self.free[number].append(block)


def buffer(size, stream):
    return rmm.DeviceBuffer(size=size, stream=rmm.pylibrmm.stream.Stream(stream))


def pointer(memory):
    return cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(memory.ptr, memory.size, memory), 0)


def main():
    steps = 10
    first, second, third = (cp.cuda.Stream(non_blocking=True) for _ in range(3))
    pool = MergingPool([first, second, third])
    rmm.mr.set_current_device_resource(rmm.mr.CallbackMemoryResource(pool.allocate, pool.deallocate))
    totals = cp.zeros(steps, dtype=cp.float64)
    cp.cuda.Device().synchronize()
    for k in range(steps):
        with first:
            data = cp.ndarray(COUNT, cp.float32, pointer(buffer(BLOCK, first)))
            data.fill(k)
            SLOW_SUM((32,), (256,), (data, totals[k:], cp.int32(COUNT)))
        del data
        large = buffer(BLOCKS * BLOCK, second)
        taken = pointer(buffer(BLOCK, third))
        taken.memset_async(0xFF, BLOCK, third)
        del large, taken
        cp.cuda.Device().synchronize()
        pool.free = {number: [] for number in pool.streams}
        pool.free[first.ptr].append(pool.region)
    cp.cuda.Device().synchronize()
    wrong = sum(float(total) != float(k) * COUNT for k, total in enumerate(totals.get()))
    print(f"{wrong} of {steps} results wrong")


main()
