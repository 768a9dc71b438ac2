"""Memory that every stream may use at once is taken on the default stream, and nothing waits for that (rmm 2448).

The pool gives it the bytes of a block that was given back in the order of the default stream, whose kernel still reads.
"""

import cupy as cp
import rmm

COUNT = 1 << 20

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


class ForAnyStream:
    """Memory that is ready when the call returns, as a synchronous allocation promises."""

    def allocate(self, size):
        return rmm.DeviceBuffer(size=size)


def floats(buffer):
    memory = cp.cuda.UnownedMemory(buffer.ptr, buffer.size, buffer)
    return cp.ndarray(COUNT, cp.float32, cp.cuda.MemoryPointer(memory, 0))


class Exchange:
    def __init__(self, steps):
        self.side = cp.cuda.Stream(non_blocking=True)
        self.memory = ForAnyStream()
        self.totals = cp.zeros(steps, dtype=cp.float64)
        cp.cuda.Device().synchronize()

    def step(self, k):
        data = floats(rmm.DeviceBuffer(size=4 * COUNT))
        data.fill(k)
        SLOW_SUM((32,), (256,), (data, self.totals[k:], cp.int32(COUNT)))
        del data  # expect: SS105
        received = floats(self.memory.allocate(4 * COUNT))
        with self.side:
            received.fill(-1)
        cp.cuda.Device().synchronize()  # the next step begins with nothing under way


def main():
    steps = 10
    rmm.mr.set_current_device_resource(
        rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=1 << 26)
    )
    exchange = Exchange(steps)
    for k in range(steps):
        exchange.step(k)
    cp.cuda.Device().synchronize()
    wrong = sum(float(total) != float(k) * COUNT for k, total in enumerate(exchange.totals.get()))
    print(f"{wrong} of {steps} results wrong")


main()
