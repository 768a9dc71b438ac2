"""Views of columns are staged in pinned memory of a function's own (cudf 22284).

The copy to the device is asynchronous: the pool of pinned memory gives the bytes to the next call before it was made.
"""

import cupy as cp
import numpy as np

VIEWS = 4096

SLOW = cp.RawKernel(
    r"""
extern "C" __global__ void slow(int cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) { }
}
""",
    "slow",
)


def device_views(target, first, stream):
    """Write the views that begin at `first` to the device."""
    staging = cp.cuda.alloc_pinned_memory(VIEWS * 8)
    views = np.frombuffer(staging, np.int64, VIEWS)
    views[:] = first
    target.data.copy_from_host_async(views.ctypes.data, views.nbytes, stream)
    stream.synchronize()


def main():
    stream = cp.cuda.Stream(non_blocking=True)
    targets = [cp.zeros(VIEWS, dtype=cp.int64) for _ in range(10)]
    SLOW((1,), (1,), (cp.int32(1000),))
    cp.cuda.Device().synchronize()
    for k, target in enumerate(targets):
        with stream:
            SLOW((1,), (1,), (cp.int32(10_000_000),))
        device_views(target, k + 1, stream)
    cp.cuda.Device().synchronize()
    wrong = sum(bool((target != k + 1).any()) for k, target in enumerate(targets))
    print(f"{wrong} of {len(targets)} results wrong")


main()
