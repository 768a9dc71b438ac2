// The driver API throughout: a module, cuLaunchKernel with an array of arguments, stream-ordered memory.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                            \
    do {                                                                       \
        CUresult result_ = call;                                               \
        if (result_ != CUDA_SUCCESS) {                                         \
            const char *text_;                                                 \
            cuGetErrorString(result_, &text_);                                 \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, text_);          \
            exit(EXIT_FAILURE);                                                \
        }                                                                      \
    } while (0)

static void launch(CUfunction function, CUdeviceptr data, int n, CUstream stream)
{
    void *arguments[] = {&data, &n};
    CHECK(cuLaunchKernel(function, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
}

int main(int argc, char **argv)
{
    const int n = 1 << 20;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUstream io, compute;
    CUevent event;
    CUdeviceptr data;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoad(&module, argc > 1 ? argv[1] : "kernel.cubin"));
    CHECK(cuModuleGetFunction(&function, module, "run"));
    CHECK(cuStreamCreate(&io, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));

    CHECK(cuMemAllocAsync(&data, n * sizeof(float), io));
    CHECK(cuMemsetD32Async(data, 0, n, io));
    CHECK(cuEventRecord(event, io));
    CHECK(cuStreamWaitEvent(compute, event, CU_EVENT_WAIT_DEFAULT));
    launch(function, data, n, compute);
    CHECK(cuEventRecord(event, compute));
    CHECK(cuStreamWaitEvent(io, event, CU_EVENT_WAIT_DEFAULT));
    CHECK(cuMemFreeAsync(data, io));

    CHECK(cuCtxSynchronize());
    CHECK(cuEventDestroy(event));
    CHECK(cuStreamDestroy(compute));
    CHECK(cuStreamDestroy(io));
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return 0;
}
