// Two driver contexts. The memory of the first is freed while the second is current.
#include <cuda.h>
#include <cstdio>
#include <cstdlib>

#define CU_CHECK(x)                                            \
    do {                                                       \
        CUresult rc_ = (x);                                    \
        if (rc_ != CUDA_SUCCESS) {                             \
            const char* name_ = nullptr;                       \
            cuGetErrorName(rc_, &name_);                       \
            std::fprintf(stderr, "%s -> %s\n", #x, name_);     \
            std::exit(EXIT_FAILURE);                           \
        }                                                      \
    } while (0)

static CUcontext make_context(CUdevice device)
{
    CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
    CU_CHECK(cuCtxCreate(&context, nullptr, CU_CTX_SCHED_AUTO, device));
#else
    CU_CHECK(cuCtxCreate(&context, CU_CTX_SCHED_AUTO, device));
#endif
    return context;
}

int main()
{
    CU_CHECK(cuInit(0));
    CUdevice device;
    CU_CHECK(cuDeviceGet(&device, 0));

    CUcontext model = make_context(device);
    CUdeviceptr weights = 0;
    CU_CHECK(cuMemAlloc(&weights, 1 << 20));
    CU_CHECK(cuMemsetD8(weights, 0, 1 << 20));
    CU_CHECK(cuCtxSynchronize());

    CUcontext viewer = make_context(device);
    CUdeviceptr image = 0;
    CU_CHECK(cuMemAlloc(&image, 1 << 16));
    CU_CHECK(cuMemsetD8(image, 255, 1 << 16));
    CU_CHECK(cuCtxSynchronize());

    CU_CHECK(cuMemFree(image));
    CU_CHECK(cuMemFree(weights));  // expect: SS203
    CU_CHECK(cuCtxDestroy(viewer));
    CU_CHECK(cuCtxDestroy(model));
    return 0;
}
