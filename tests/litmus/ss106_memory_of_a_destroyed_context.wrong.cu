// The context that owns the memory is destroyed while another context's stream still works on it.
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
    cuCtxDestroy(owner);  // expect: SS106
    cuStreamSynchronize(stream);
    cuStreamDestroy(stream);
    cuCtxDestroy(user);
    return 0;
}
