// A growable range built on the virtual memory API is unmapped while a kernel still writes it.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define DRV(x)                                                     \
    do {                                                           \
        CUresult r = (x);                                          \
        if (r != CUDA_SUCCESS) {                                   \
            const char* text = nullptr;                            \
            cuGetErrorString(r, &text);                            \
            fprintf(stderr, "%s: %s\n", #x, text ? text : "?");    \
            exit(1);                                               \
        }                                                          \
    } while (0)
#define RT(x)                                                      \
    do {                                                           \
        cudaError_t e = (x);                                       \
        if (e != cudaSuccess) {                                    \
            fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); \
            exit(1);                                               \
        }                                                          \
    } while (0)

__global__ void stamp(unsigned* words, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) words[i] = 0xC0FFEEu;
}

int main()
{
    RT(cudaSetDevice(0));
    RT(cudaFree(nullptr));

    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    size_t granularity = 0;
    DRV(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    const size_t size = 4 * granularity;

    CUdeviceptr range = 0;
    CUmemGenericAllocationHandle block;
    DRV(cuMemAddressReserve(&range, size, 0, 0, 0));
    DRV(cuMemCreate(&block, size, &prop, 0));
    DRV(cuMemMap(range, size, 0, block, 0));
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRV(cuMemSetAccess(range, size, &access, 1));

    cudaStream_t stream;
    RT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned* words = reinterpret_cast<unsigned*>(range);
    const size_t n = size / sizeof(unsigned);
    stamp<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(words, n);
    RT(cudaGetLastError());

    DRV(cuMemUnmap(range, size));  // expect: SS104
    DRV(cuMemRelease(block));
    DRV(cuMemAddressFree(range, size));
    RT(cudaStreamSynchronize(stream));
    RT(cudaStreamDestroy(stream));
    return 0;
}
