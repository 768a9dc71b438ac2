"""An array is copied on the null stream, whatever stream is current (cupy 5004).

The stream that fills it is a non-blocking one: the null stream does not wait for it.
"""

import cupy as cp

COUNT = 1 << 20

SLOW = cp.RawKernel(
    r"""
extern "C" __global__ void slow(int cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) { }
}
""",
    "slow",
)


def duplicate(target, source, stream):
    """Copy as `ndarray.copy` did."""
    target.data.copy_from_device(source.data, source.nbytes)  # expect: SS109


def main():
    stream = cp.cuda.Stream(non_blocking=True)
    values = [cp.full(COUNT, k + 1, dtype=cp.float32) for k in range(8)]
    filled = [cp.zeros(COUNT, dtype=cp.float32) for _ in values]
    copies = [cp.zeros(COUNT, dtype=cp.float32) for _ in values]
    SLOW((1,), (1,), (cp.int32(1000),))
    cp.cuda.Device().synchronize()
    for value, source, target in zip(values, filled, copies, strict=True):
        with stream:
            SLOW((1,), (1,), (cp.int32(10_000_000),))
            source.data.copy_from_device_async(value.data, value.nbytes, stream)
            duplicate(target, source, stream)
    cp.cuda.Device().synchronize()
    wrong = sum(bool((target != k + 1).any()) for k, target in enumerate(copies))
    print(f"{wrong} of {len(copies)} results wrong")


main()
