// A reservation rounded up to the granularity that the driver names; it is unmapped while the copy from it is under way.
#include <cuda.h>
#include <cstdio>
#include <cstdlib>

#define DRIVER(call)                                                                   \
    do {                                                                               \
        const CUresult result = (call);                                                \
        if (result != CUDA_SUCCESS) {                                                  \
            const char* text = nullptr;                                                \
            cuGetErrorString(result, &text);                                           \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, text ? text : ""); \
            std::exit(1);                                                              \
        }                                                                              \
    } while (0)

class Mapping {
public:
    Mapping(CUdevice device, std::size_t wanted)
    {
        CUmemAllocationProp prop = {};
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        prop.location.id = device;
        std::size_t granularity = 0;
        DRIVER(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
        bytes_ = (wanted + granularity - 1) / granularity * granularity;
        DRIVER(cuMemAddressReserve(&base_, bytes_, granularity, 0, 0));
        DRIVER(cuMemCreate(&memory_, bytes_, &prop, 0));
        DRIVER(cuMemMap(base_, bytes_, 0, memory_, 0));
        CUmemAccessDesc access = {};
        access.location = prop.location;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        DRIVER(cuMemSetAccess(base_, bytes_, &access, 1));
    }
    ~Mapping()
    {
        cuMemUnmap(base_, bytes_);  // expect: SS104
        cuMemRelease(memory_);
        cuMemAddressFree(base_, bytes_);
    }
    Mapping(const Mapping&) = delete;
    CUdeviceptr base() const { return base_; }

private:
    CUdeviceptr base_ = 0;
    std::size_t bytes_ = 0;
    CUmemGenericAllocationHandle memory_ = 0;
};

int main()
{
    const std::size_t wanted = 3 << 20;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUdeviceptr copy;
    DRIVER(cuInit(0));
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(cuCtxSetCurrent(context));
    DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    DRIVER(cuMemAlloc(&copy, wanted));
    {
        Mapping staging(device, wanted);
        DRIVER(cuMemsetD8Async(staging.base(), 7, wanted, stream));
        DRIVER(cuMemcpyDtoDAsync(copy, staging.base(), wanted, stream));
    }
    DRIVER(cuStreamSynchronize(stream));
    DRIVER(cuMemFree(copy));
    DRIVER(cuStreamDestroy(stream));
    DRIVER(cuDevicePrimaryCtxRelease(device));
    return 0;
}
