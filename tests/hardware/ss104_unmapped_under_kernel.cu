// A range of the virtual memory API is unmapped as soon as its last kernel is launched.
// On hardware the unmapping does not wait: the delayed kernel ends with an illegal address.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define DRIVER(call)                                                                  \
    do {                                                                              \
        if (CUresult result = (call); result != CUDA_SUCCESS) {                       \
            std::printf("error: %d from %s\n", static_cast<int>(result), #call);      \
            std::exit(1);                                                             \
        }                                                                             \
    } while (0)
#define RUNTIME(call)                                                                 \
    do {                                                                              \
        if (cudaError_t status = (call); status != cudaSuccess) {                     \
            std::printf("error: %s from %s\n", cudaGetErrorName(status), #call);      \
            std::exit(1);                                                             \
        }                                                                             \
    } while (0)

__global__ void delay(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void number(int* words, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = i;
}

__global__ void twice(const int* words, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * words[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    RUNTIME(cudaSetDevice(0));
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    size_t size = 0;
    DRIVER(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUdeviceptr range = 0;
    CUmemGenericAllocationHandle memory;
    DRIVER(cuMemAddressReserve(&range, size, 0, 0, 0));
    DRIVER(cuMemCreate(&memory, size, &prop, 0));
    DRIVER(cuMemMap(range, size, 0, memory, 0));
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    DRIVER(cuMemSetAccess(range, size, &access, 1));

    cudaStream_t stream;
    RUNTIME(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const int n = static_cast<int>(size / sizeof(int));
    int *words = reinterpret_cast<int*>(range), *out;
    RUNTIME(cudaMalloc(&out, size));
    number<<<n / 256, 256, 0, stream>>>(words, n);
    delay<<<1, 1, 0, stream>>>(100'000'000);
    twice<<<n / 256, 256, 0, stream>>>(words, out, n);
    DRIVER(cuMemUnmap(range, size));  // expect: SS104
    DRIVER(cuMemRelease(memory));
    DRIVER(cuMemAddressFree(range, size));

    RUNTIME(cudaStreamSynchronize(stream));
    std::vector<int> host(n);
    RUNTIME(cudaMemcpy(host.data(), out, size, cudaMemcpyDeviceToHost));
    RUNTIME(cudaFree(out));
    RUNTIME(cudaStreamDestroy(stream));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 2 * i;
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
