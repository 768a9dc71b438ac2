// The context that owns the memory is destroyed when the other context's stream is done with it.
#include <cuda.h>

int main() {
    cuInit(0);
    CUdevice device;
    cuDeviceGet(&device, 0);
    CUcontext owner, user;
    cuCtxCreate(&owner, nullptr, 0, device);
    CUdeviceptr table;
    cuMemAlloc(&table, 4096);
    cuCtxCreate(&user, nullptr, 0, device);
    CUstream stream;
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuMemsetD32Async(table, 7, 1024, stream);
    cuStreamSynchronize(stream);
    cuCtxSetCurrent(owner);
    cuMemFree(table);
    cuCtxSetCurrent(user);
    cuCtxDestroy(owner);
    cuStreamDestroy(stream);
    cuCtxDestroy(user);
    return 0;
}
