// A page of a virtual range is exchanged for another one while a kernel has still to read the first.
// On hardware nothing waits: the delayed kernel reads the other page.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

static void require(CUresult result)
{
    if (result != CUDA_SUCCESS) throw std::runtime_error("driver error " + std::to_string(result));
}

static void require(cudaError_t status)
{
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorName(status));
}

__global__ void wait_for_turn(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void paint(int* page, int color, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) page[i] = color;
}

__global__ void scan_out(const int* page, int* screen, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) screen[i] = page[i];
}

static void map(CUdeviceptr where, size_t size, CUmemGenericAllocationHandle page, const CUmemAllocationProp& prop)
{
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    require(cuMemMap(where, size, 0, page, 0));
    require(cuMemSetAccess(where, size, &access, 1));
}

static int flip()
{
    require(cudaSetDevice(0));
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    size_t size = 0;
    require(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUdeviceptr front = 0, back = 0;
    CUmemGenericAllocationHandle first, second;
    require(cuMemAddressReserve(&front, size, 0, 0, 0));
    require(cuMemAddressReserve(&back, size, 0, 0, 0));
    require(cuMemCreate(&first, size, &prop, 0));
    require(cuMemCreate(&second, size, &prop, 0));
    map(front, size, first, prop);
    map(back, size, second, prop);

    const int n = static_cast<int>(size / sizeof(int));
    cudaStream_t stream;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int* screen = nullptr;
    require(cudaMalloc(&screen, size));
    paint<<<n / 256, 256, 0, stream>>>(reinterpret_cast<int*>(front), 1, n);
    paint<<<n / 256, 256, 0, stream>>>(reinterpret_cast<int*>(back), 2, n);
    require(cudaStreamSynchronize(stream));
    require(cuMemUnmap(back, size));

    wait_for_turn<<<1, 1, 0, stream>>>(100'000'000);
    scan_out<<<n / 256, 256, 0, stream>>>(reinterpret_cast<int*>(front), screen, n);
    require(cuMemUnmap(front, size));  // expect: SS104
    map(front, size, second, prop);

    require(cudaStreamSynchronize(stream));
    std::vector<int> host(n);
    require(cudaMemcpy(host.data(), screen, size, cudaMemcpyDeviceToHost));
    require(cuMemUnmap(front, size));
    require(cuMemRelease(first));
    require(cuMemRelease(second));
    require(cuMemAddressFree(front, size));
    require(cuMemAddressFree(back, size));
    require(cudaFree(screen));
    require(cudaStreamDestroy(stream));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 1;
    return wrong;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    try {
        const int wrong = flip();
        std::printf("wrong words: %d\n", wrong);
        return wrong != 0;
    } catch (const std::runtime_error& error) {
        std::printf("error: %s\n", error.what());
        return 1;
    }
}
