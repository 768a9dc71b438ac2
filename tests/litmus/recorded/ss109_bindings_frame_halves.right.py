"""Double-buffered synthesis: one half is rendered while the other is downloaded."""

import ctypes

import numpy as np
from cuda.bindings import driver, nvrtc, runtime

HALF = 1 << 16
FRAMES = 10

SOURCE = b"""
extern "C" __global__ void synthesize(float* out, int n, int frame) {
    long long t0 = clock64();
    while (clock64() - t0 < 400000) { }
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = (float)((i + frame * 5) % 89);
}
"""


def check(result):
    """Unpacks (error, values...) as returned by cuda.bindings."""
    error, *values = result
    if int(error) != 0:
        raise RuntimeError(f"CUDA call failed: {error}")
    return values[0] if len(values) == 1 else values


def compile_kernel(name: bytes):
    check(runtime.cudaFree(0))
    kind = runtime.cudaDeviceAttr
    major = check(runtime.cudaDeviceGetAttribute(kind.cudaDevAttrComputeCapabilityMajor, 0))
    minor = check(runtime.cudaDeviceGetAttribute(kind.cudaDevAttrComputeCapabilityMinor, 0))
    program = check(nvrtc.nvrtcCreateProgram(SOURCE, b"synth.cu", 0, [], []))
    check(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=sm_{major}{minor}".encode()]))
    image = b" " * check(nvrtc.nvrtcGetCUBINSize(program))
    check(nvrtc.nvrtcGetCUBIN(program, image))
    module = check(driver.cuModuleLoadData(np.frombuffer(image, dtype=np.uint8).ctypes.data))
    return check(driver.cuModuleGetFunction(module, name))


class Synth:
    def __init__(self):
        self.kernel = compile_kernel(b"synthesize")
        flags = runtime.cudaStreamNonBlocking
        self.render = check(runtime.cudaStreamCreateWithFlags(flags))
        self.download = check(runtime.cudaStreamCreateWithFlags(flags))
        self.filled = check(runtime.cudaEventCreateWithFlags(runtime.cudaEventDisableTiming))
        self.copied = check(runtime.cudaEventCreateWithFlags(runtime.cudaEventDisableTiming))
        self.device = check(runtime.cudaMalloc(2 * HALF * 4))
        self.pinned = check(runtime.cudaMallocHost(FRAMES * HALF * 4))
        check(runtime.cudaMemset(self.device, 0, 2 * HALF * 4))
        check(runtime.cudaDeviceSynchronize())

    def half(self, index: int) -> int:
        return int(self.device) + (index & 1) * HALF * 4

    def frame(self, f: int) -> None:
        check(runtime.cudaStreamWaitEvent(self.download, self.filled, 0))  # frame f-1 rendered
        check(runtime.cudaStreamWaitEvent(self.render, self.copied, 0))  # frame f-2 downloaded
        values = (self.half(f), HALF, f)
        types = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
        check(driver.cuLaunchKernel(self.kernel, 32, 1, 1, 256, 1, 1, 0, int(self.render), (values, types), 0))
        check(runtime.cudaEventRecord(self.filled, self.render))
        source = self.half(f - 1)
        check(
            runtime.cudaMemcpyAsync(
                int(self.pinned) + f * HALF * 4,
                source,
                HALF * 4,
                runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost,
                self.download,
            )
        )
        check(runtime.cudaEventRecord(self.copied, self.download))

    def digest(self) -> float:
        check(runtime.cudaStreamSynchronize(self.render))
        check(runtime.cudaStreamSynchronize(self.download))
        view = (ctypes.c_float * (FRAMES * HALF)).from_address(int(self.pinned))
        frames = np.ctypeslib.as_array(view).reshape(FRAMES, HALF).astype(np.float64)
        return float((frames * np.arange(1, FRAMES + 1)[:, None]).sum())


def main() -> None:
    synth = Synth()
    for f in range(FRAMES):
        synth.frame(f)
    print("synth digest", synth.digest())


if __name__ == "__main__":
    main()
