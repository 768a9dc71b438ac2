"""The second kernel may begin while the first one still writes: it waits for it before it reads."""

import ctypes

from cuda.bindings import driver
from cuda.bindings import runtime as cudart
from gpu_common import check, load_kernel

N = 1 << 12
KERNELS = r"""
extern "C" __global__ void square(float *values, int n)
{
    asm volatile("griddepcontrol.launch_dependents;");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= values[i];
}

extern "C" __global__ void difference(float *result, const float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    asm volatile("griddepcontrol.wait;");
    result[i] = values[i] - values[0];
}
"""


def launch(kernel, stream, values, types, programmatic=False):
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = N // 128, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = 128, 1, 1
    config.hStream = driver.CUstream(int(stream))
    if programmatic:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        value = driver.CUlaunchAttributeValue()
        value.programmaticStreamSerializationAllowed = 1
        attribute.value = value
        config.attrs = [attribute]
        config.numAttrs = 1
    check(driver.cuLaunchKernelEx(config, kernel, (values, types), 0))


def main():
    square = load_kernel(KERNELS, "square", b"--gpu-architecture=compute_90")
    difference = load_kernel(KERNELS, "difference", b"--gpu-architecture=compute_90")
    stream = check(cudart.cudaStreamCreate())
    values, result = check(cudart.cudaMalloc(4 * N)), check(cudart.cudaMalloc(4 * N))
    check(cudart.cudaMemsetAsync(values, 0, 4 * N, stream))
    launch(square, stream, (values, N), (ctypes.c_void_p, ctypes.c_int))
    types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    launch(difference, stream, (result, values, N), types, programmatic=True)
    check(cudart.cudaStreamSynchronize(stream))
    check(cudart.cudaFree(values))
    check(cudart.cudaFree(result))


if __name__ == "__main__":
    main()
