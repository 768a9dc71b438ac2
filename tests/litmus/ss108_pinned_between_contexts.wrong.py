"""Pinned memory of one context carries data into another one."""

import ctypes

from cuda.bindings import driver
from gpu_common import check

NBYTES = 1 << 16


class Side:
    def __init__(self, device):
        self.context = check(driver.cuCtxCreate(None, 0, device))
        self.stream = check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self.data = check(driver.cuMemAlloc(NBYTES))
        check(driver.cuCtxPopCurrent())

    def __enter__(self):
        check(driver.cuCtxPushCurrent(self.context))
        return self

    def __exit__(self, *exception):
        check(driver.cuCtxPopCurrent())

    def close(self):
        with self:
            check(driver.cuStreamSynchronize(self.stream))
            check(driver.cuMemFree(self.data))
        check(driver.cuCtxDestroy(self.context))


def main():
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    producer, consumer = Side(device), Side(device)
    with producer:
        staging = check(driver.cuMemHostAlloc(NBYTES, driver.CU_MEMHOSTALLOC_PORTABLE))
        ctypes.memset(staging, 1, NBYTES)
    with consumer:
        check(driver.cuMemcpyHtoDAsync(consumer.data, staging, NBYTES, consumer.stream))
    with producer:
        check(driver.cuMemFreeHost(staging))  # expect: SS108
    consumer.close()
    producer.close()


if __name__ == "__main__":
    main()
