"""CuPy's arrays get RMM's memory on the default stream, whatever stream CuPy is on (rmm 649).

RMM's own allocator for CuPy takes each array on CuPy's current stream, and gives it back there.
"""

import cupy as cp
import rmm
from rmm.allocators.cupy import rmm_cupy_allocator

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


class Workers:
    def __init__(self, steps):
        self.streams = [cp.cuda.Stream(non_blocking=True) for _ in range(2)]
        self.totals = cp.zeros(steps, dtype=cp.float64)
        cp.cuda.Device().synchronize()

    def step(self, k):
        with self.streams[k % 2]:
            data = cp.full(COUNT, k, dtype=cp.float32)
            SLOW_SUM((32,), (256,), (data, self.totals[k:], cp.int32(COUNT)))
            del data


def main():
    steps = 10
    rmm.mr.set_current_device_resource(
        rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=1 << 26)
    )
    cp.cuda.set_allocator(rmm_cupy_allocator)
    workers = Workers(steps)
    for k in range(steps):
        workers.step(k)
    cp.cuda.Device().synchronize()
    wrong = sum(float(total) != float(k) * COUNT for k, total in enumerate(workers.totals.get()))
    print(f"{wrong} of {steps} results wrong")


main()
