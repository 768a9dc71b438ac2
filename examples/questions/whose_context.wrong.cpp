// Freed with another context current than the one that it was allocated in.
#include <cuda.h>

int main() {
    cuInit(0);
    CUdevice device;
    CUcontext first, second;
    cuDeviceGet(&device, 0);
    cuCtxCreate(&first, nullptr, 0, device);
    cuCtxCreate(&second, nullptr, 0, device);

    CUdeviceptr memory;
    cuCtxSetCurrent(first);
    cuMemAlloc(&memory, 4096);
    cuCtxSetCurrent(second);
    cuMemFree(memory);

    cuCtxDestroy(second);
    cuCtxDestroy(first);
}
