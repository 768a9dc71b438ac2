"""An array is dropped while another stream reads it; the next one gets its memory, and waits before it is used."""

import cupy as cp

COUNT = 1_000_003

LATE_SUM = cp.RawKernel(
    r"""
extern "C" __global__ void late_sum(const float* data, double* total, int count) {
    const long long begin = clock64();
    while (clock64() - begin < 4000000) { }
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += data[i];
    atomicAdd(total, sum);
}
""",
    "late_sum",
)


def main():
    rounds = 10
    main_stream, side = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    totals = cp.zeros(rounds, dtype=cp.float64)
    cp.cuda.Device().synchronize()
    for k in range(rounds):
        with main_stream:
            data = cp.full(COUNT, 1, dtype=cp.float32)
        main_stream.synchronize()
        with side:
            LATE_SUM((1,), (256,), (data, totals[k:], cp.int32(COUNT)))
        del data
        with main_stream:
            other = cp.empty(COUNT, dtype=cp.float32)
            main_stream.wait_event(side.record())
            other[: COUNT // 2].fill(1)
        cp.cuda.Device().synchronize()
        del other
    wrong = sum(float(total) != COUNT for total in totals.get())
    print(f"{wrong} of {rounds} wrong")


main()
