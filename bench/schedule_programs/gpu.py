"""What the programs of this folder share: statuses, streams, kernels, words on the host."""

import ctypes

import numpy as np
from cuda.bindings import driver, nvrtc, runtime

WORDS = 2048
SIZE = 4 * WORDS
TO_DEVICE = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
TO_HOST = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
SOURCE = rb"""
extern "C" __global__ void add(int *to, const int *from, int value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i] + value;
}
"""


def add(to, values, value, n):
    """What the kernel computes."""
    to[:n] = values[:n] + value


def check(answer):
    """Return the results of a call, or raise what went wrong."""
    status, *results = answer
    if int(status) != 0:
        raise RuntimeError(str(status))
    return results[0] if len(results) == 1 else results


def stream():
    """Return a stream without implicit order to others."""
    return check(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))


def after(later, earlier):
    """Order what is issued to `later` from here on after what `earlier` has now."""
    event = check(runtime.cudaEventCreateWithFlags(runtime.cudaEventDisableTiming))
    check(runtime.cudaEventRecord(event, earlier))
    check(runtime.cudaStreamWaitEvent(later, event, 0))
    check(runtime.cudaEventDestroy(event))


def pinned(value=0):
    """Return host memory that copies read and write asynchronously: its address, and its words."""
    address = check(runtime.cudaMallocHost(SIZE))
    words = np.ctypeslib.as_array((ctypes.c_int32 * WORDS).from_address(address))
    words[:] = value
    return address, words


def kernel():
    """Return the kernel `add`."""
    check(runtime.cudaFree(0))
    program = check(nvrtc.nvrtcCreateProgram(SOURCE, b"add.cu", 0, [], []))
    check(nvrtc.nvrtcCompileProgram(program, 0, []))
    image = b" " * check(nvrtc.nvrtcGetPTXSize(program))
    check(nvrtc.nvrtcGetPTX(program, image))
    return check(driver.cuModuleGetFunction(check(driver.cuModuleLoadData(image)), b"add"))


def launch(function, to, source, value, on):
    """Launch `add` on a stream."""
    types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
    check(driver.cuLaunchKernel(function, WORDS // 256, 1, 1, 256, 1, 1, 0, on, ((to, source, value, WORDS), types), 0))
