"""Kernels are given the begin and the end of a range: the end is where the next block begins, another owner's."""

import cupy as cp

COUNT = 1 << 18

SUM = cp.RawKernel(
    r"""
extern "C" __global__ void sum_range(const float* begin, const float* end, double* total) {
    long long start = clock64();
    while (clock64() - start < 5000000) { }
    double sum = 0;
    for (const float* p = begin + blockIdx.x * blockDim.x + threadIdx.x; p < end; p += gridDim.x * blockDim.x)
        sum += *p;
    atomicAdd(total, sum);
}
""",
    "sum_range",
)


def main():
    side = cp.cuda.Stream(non_blocking=True)
    totals = cp.zeros(8, dtype=cp.float64)
    room = cp.empty(4 * COUNT, dtype=cp.float32)
    del room
    cp.cuda.Device().synchronize()
    for k in range(8):
        left = cp.full(COUNT, k, dtype=cp.float32)
        right = cp.full(COUNT, k + 1, dtype=cp.float32)
        side.wait_event(cp.cuda.get_current_stream().record())
        with side:
            begin = left.data.ptr
            SUM((32,), (256,), (cp.uint64(begin), cp.uint64(begin + left.nbytes), totals[k:]))
        del right
        right = cp.full(COUNT, -1, dtype=cp.float32)
        cp.cuda.get_current_stream().wait_event(side.record())
        del right, left
    cp.cuda.Device().synchronize()
    wrong = sum(float(total) != float(k) * COUNT for k, total in enumerate(totals.get()))
    print(f"{wrong} of 8 results wrong")


main()
