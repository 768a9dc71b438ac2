"""A memory resource gives memory on when it is given back, while the stream's kernel still uses it (rmm 1655).

A resource on cudaFree may do so: that call waits. One on any other memory has to wait for the stream itself.
"""

import cupy as cp
import rmm

COUNT = 1 << 20
BLOCK = 4 * COUNT

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


class FreeList:
    def __init__(self, blocks):
        self.upstream = rmm.mr.CudaMemoryResource()
        region = self.upstream.allocate(blocks * BLOCK)
        self.free = [region + number * BLOCK for number in range(blocks)]

    def allocate(self, size, stream):
        return self.free.pop()

    def deallocate(self, block, size, stream):
        self.free.append(block)


class Workers:
    def __init__(self, steps):
        self.streams = [cp.cuda.Stream(non_blocking=True) for _ in range(2)]
        self.totals = cp.zeros(steps, dtype=cp.float64)
        cp.cuda.Device().synchronize()

    def step(self, k):
        stream = self.streams[k % 2]
        with stream:
            buffer = rmm.DeviceBuffer(size=BLOCK, stream=rmm.pylibrmm.stream.Stream(stream))
            memory = cp.cuda.UnownedMemory(buffer.ptr, buffer.size, buffer)
            data = cp.ndarray(COUNT, cp.float32, cp.cuda.MemoryPointer(memory, 0))
            data.fill(k)  # expect: SS109
            SLOW_SUM((32,), (256,), (data, self.totals[k:], cp.int32(COUNT)))  # expect: SS109


def main():
    steps = 10
    blocks = FreeList(4)
    rmm.mr.set_current_device_resource(rmm.mr.CallbackMemoryResource(blocks.allocate, blocks.deallocate))
    workers = Workers(steps)
    for k in range(steps):
        workers.step(k)
    cp.cuda.Device().synchronize()
    wrong = sum(float(total) != float(k) * COUNT for k, total in enumerate(workers.totals.get()))
    print(f"{wrong} of {steps} results wrong")


main()
