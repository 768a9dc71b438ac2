"""CuPy's arrays get RMM's memory on the default stream, whatever stream CuPy is on (rmm 649).

The pool takes the memory back, and hands it out again, in the order of the default stream. The streams of the program
do not wait for that one: what a kernel of one stream still reads is filled by the next.
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


def from_rmm(size):
    buffer = rmm.DeviceBuffer(size=size)
    return cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(buffer.ptr, buffer.size, buffer), 0)


class Workers:
    def __init__(self, steps):
        self.streams = [cp.cuda.Stream(non_blocking=True) for _ in range(2)]
        self.totals = cp.zeros(steps, dtype=cp.float64)
        cp.cuda.Device().synchronize()

    def step(self, k):
        with self.streams[k % 2]:
            data = cp.full(COUNT, k, dtype=cp.float32)
            SLOW_SUM((32,), (256,), (data, self.totals[k:], cp.int32(COUNT)))
            del data  # expect: SS105


def main():
    steps = 10
    rmm.mr.set_current_device_resource(
        rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=1 << 26)
    )
    cp.cuda.set_allocator(from_rmm)
    workers = Workers(steps)
    for k in range(steps):
        workers.step(k)
    cp.cuda.Device().synchronize()
    wrong = sum(float(total) != float(k) * COUNT for k, total in enumerate(workers.totals.get()))
    print(f"{wrong} of {steps} results wrong")


main()
