"""pipeline.py with the missing order: the free waits for the kernel.

Run it on a GPU with `python examples/pipeline_fixed.py` and cuda-bindings, or without one:
`streamsan sim examples/pipeline_fixed.py`.
"""

import ctypes
import sys

import numpy as np
from cuda.bindings import driver, nvrtc, runtime

SOURCE = rb"""
extern "C" __global__ void scale(const float *input, float *result, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) result[i] = input[i] * factor;
}
"""


def scale(input, result, factor, n):
    """What the kernel computes: used by the simulated device, ignored by a real one."""
    result[:n] = input[:n] * np.float32(factor)


SIMULATED_KERNELS = {"scale": scale}


def check(answer):
    """Return the results of a call, or raise what went wrong."""
    status, *results = answer
    if int(status) != 0:
        raise RuntimeError(str(status))
    return results[0] if len(results) == 1 else results


def compile_scale():
    """Return the kernel as a driver function."""
    program = check(nvrtc.nvrtcCreateProgram(SOURCE, b"scale.cu", 0, [], []))
    check(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=sm_90"]))
    image = b" " * check(nvrtc.nvrtcGetCUBINSize(program))
    check(nvrtc.nvrtcGetCUBIN(program, image))
    module = check(driver.cuModuleLoadData(image))
    return check(driver.cuModuleGetFunction(module, b"scale"))


def main():
    """Process four batches; return how many words are wrong."""
    n, batches = 1 << 14, 4
    size = n * 4
    check(runtime.cudaSetDevice(0))
    check(runtime.cudaFree(0))
    function = compile_scale()
    upload = check(runtime.cudaStreamCreate())
    compute = check(runtime.cudaStreamCreate())
    ready, done = (check(runtime.cudaEventCreate()) for _ in range(2))
    results = [check(runtime.cudaMalloc(size)) for _ in range(batches)]
    pinned = check(runtime.cudaMallocHost(size * batches))
    staged = np.ctypeslib.as_array((ctypes.c_float * (n * batches)).from_address(pinned)).reshape(batches, n)
    staged[:] = np.arange(n * batches, dtype=np.float32).reshape(batches, n)

    kind = runtime.cudaMemcpyKind
    for batch in range(batches):
        data = check(runtime.cudaMallocAsync(size, upload))
        check(runtime.cudaMemcpyAsync(data, staged[batch].ctypes.data, size, kind.cudaMemcpyHostToDevice, upload))
        check(runtime.cudaEventRecord(ready, upload))
        check(runtime.cudaStreamWaitEvent(compute, ready, 0))
        arguments = ((data, results[batch], 2.0, n), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_int))
        check(driver.cuLaunchKernel(function, n // 256, 1, 1, 256, 1, 1, 0, compute, arguments, 0))
        check(runtime.cudaEventRecord(done, compute))
        check(runtime.cudaStreamWaitEvent(upload, done, 0))
        check(runtime.cudaFreeAsync(data, upload))

    check(runtime.cudaStreamSynchronize(compute))
    wrong = 0
    for batch in range(batches):
        answer = np.empty(n, np.float32)
        check(runtime.cudaMemcpy(answer.ctypes.data, results[batch], size, kind.cudaMemcpyDeviceToHost))
        wrong += int(np.count_nonzero(answer != staged[batch] * 2))
        check(runtime.cudaFree(results[batch]))
    check(runtime.cudaFreeHost(pinned))
    for stream in (upload, compute):
        check(runtime.cudaStreamDestroy(stream))
    for event in (ready, done):
        check(runtime.cudaEventDestroy(event))
    print(f"{wrong} of {n * batches} words are wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
