"""CuPy's pool keeps an arena for each stream, and no note of which other streams use a block (cupy 8068).

An array is made in one stream, read in another, and dropped: the next array of the first stream gets its bytes.
"""

import cupy as cp

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


class Pipeline:
    def __init__(self, steps):
        self.produce = cp.cuda.Stream(non_blocking=True)
        self.consume = cp.cuda.Stream(non_blocking=True)
        self.totals = cp.zeros(steps, dtype=cp.float64)
        cp.cuda.Device().synchronize()

    def step(self, k):
        with self.produce:
            data = cp.full(COUNT, k, dtype=cp.float32)
            made = self.produce.record()
        self.consume.wait_event(made)
        with self.consume:
            SLOW_SUM((32,), (256,), (data, self.totals[k:], cp.int32(COUNT)))


def main():
    steps = 10
    pipeline = Pipeline(steps)
    for k in range(steps):
        pipeline.step(k)  # expect: SS105
    cp.cuda.Device().synchronize()
    wrong = sum(float(total) != float(k) * COUNT for k, total in enumerate(pipeline.totals.get()))
    print(f"{wrong} of {steps} results wrong")


main()
