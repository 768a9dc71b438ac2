"""Photon counting: hits are tallied per detector, folded into totals and reset."""

import ctypes

import numpy as np
from cuda.bindings import driver, nvrtc

DETECTORS = 1 << 14
ROUNDS = 10

SOURCE = b"""
extern "C" __global__ void tally(unsigned* hits, unsigned long long* total, int n, int round) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    hits[i] += (unsigned)((i + round) % 11);
    long long t0 = clock64();
    while (clock64() - t0 < 300000) { }
    atomicAdd(total + round, (unsigned long long)((volatile unsigned*)hits)[i]);
}
"""


def ok(result):
    if int(result[0]) != 0:
        raise RuntimeError(str(result[0]))
    return result[1] if len(result) == 2 else result[1:]


class Context:
    """Primary context of device 0."""

    def __init__(self):
        ok(driver.cuInit(0))
        self.device = ok(driver.cuDeviceGet(0))
        self.handle = ok(driver.cuDevicePrimaryCtxRetain(self.device))
        ok(driver.cuCtxSetCurrent(self.handle))

    def function(self, source: bytes, name: bytes):
        attribute = driver.CUdevice_attribute
        major = ok(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, self.device))
        minor = ok(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, self.device))
        program = ok(nvrtc.nvrtcCreateProgram(source, b"tally.cu", 0, [], []))
        ok(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=sm_{major}{minor}".encode()]))
        image = b" " * ok(nvrtc.nvrtcGetCUBINSize(program))
        ok(nvrtc.nvrtcGetCUBIN(program, image))
        self.module = ok(driver.cuModuleLoadData(np.frombuffer(image, dtype=np.uint8).ctypes.data))
        return ok(driver.cuModuleGetFunction(self.module, name))


class Counter:
    def __init__(self, context: Context):
        self.kernel = context.function(SOURCE, b"tally")
        self.count = ok(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self.reset = ok(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self.tallied = ok(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        self.cleared = ok(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        self.hits = ok(driver.cuMemAlloc(DETECTORS * 4))
        self.total = ok(driver.cuMemAlloc(ROUNDS * 8))
        ok(driver.cuMemsetD32(self.hits, 0, DETECTORS))
        ok(driver.cuMemsetD32(self.total, 0, ROUNDS * 2))
        ok(driver.cuCtxSynchronize())

    def round(self, r: int) -> None:
        ok(driver.cuStreamWaitEvent(self.count, self.cleared, 0))
        args = (
            (int(self.hits), int(self.total), DETECTORS, r),
            (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
        )
        ok(driver.cuLaunchKernel(self.kernel, DETECTORS // 128, 1, 1, 128, 1, 1, 0, self.count, args, 0))
        ok(driver.cuEventRecord(self.tallied, self.count))
        ok(driver.cuMemsetD32Async(self.hits, 0, DETECTORS, self.reset))  # expect: SS109
        ok(driver.cuEventRecord(self.cleared, self.reset))

    def totals(self):
        ok(driver.cuStreamSynchronize(self.count))
        ok(driver.cuStreamSynchronize(self.reset))
        host = np.zeros(ROUNDS, dtype=np.uint64)
        ok(driver.cuMemcpyDtoH(host.ctypes.data, self.total, host.nbytes))
        return host.tolist()


def main() -> None:
    counter = Counter(Context())
    for r in range(ROUNDS):
        counter.round(r)
    print("totals", counter.totals())


if __name__ == "__main__":
    main()
