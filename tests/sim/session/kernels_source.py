"""A program for the device that several tests load."""

from __future__ import annotations

import ctypes
from typing import Any

from simulated_cuda import driver, nvrtc, ok, runtime

SOURCE = b"""
struct Pair { float *data; int n; };
extern "C" __global__ void copy(const float *from, float *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}
extern "C" __global__ void fill(float *x, int n, float value) { if (threadIdx.x < n) x[threadIdx.x] = value; }
extern "C" __global__ void first(Pair pair) { pair.data[0] = pair.n; }
template <typename T> __global__ void twice(T *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
__device__ int counter = 7;
"""


class Pair(ctypes.Structure):
    """`Pair` of SOURCE."""

    _fields_ = (("data", ctypes.c_void_p), ("n", ctypes.c_int))


def loaded(*expressions: bytes) -> tuple[Any, list[bytes]]:
    """Compile SOURCE, load it in the primary context; return the module and the linker's names."""
    program = ok(nvrtc.nvrtcCreateProgram(SOURCE, b"source.cu", 0, [], []))
    for expression in expressions:
        ok(nvrtc.nvrtcAddNameExpression(program, expression))
    ok(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=sm_90"]))
    ptx = b" " * ok(nvrtc.nvrtcGetPTXSize(program))
    ok(nvrtc.nvrtcGetPTX(program, ptx))
    names = [ok(nvrtc.nvrtcGetLoweredName(program, expression)) for expression in expressions]
    ok(nvrtc.nvrtcDestroyProgram(program))
    ok(runtime.cudaFree(0))
    return ok(driver.cuModuleLoadData(ptx)), names


def launch(function: Any, arguments: Any, stream: int = 0, extra: int = 0) -> Any:
    """Launch one block of 256 threads."""
    return driver.cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, stream, arguments, extra)
