// Memory of a pool of its own, and a launch through cudaLaunchKernel with its arguments in an array.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CUDA_OK(x) check_status(x, __FILE__, __LINE__, #x)
static void check_status(cudaError_t s, const char* file, int line, const char* text)
{
    if (s == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, text, cudaGetErrorString(s));
    exit(EXIT_FAILURE);
}

__global__ void hash(const uint32_t* keys, uint32_t* slots, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) slots[i] = keys[i] * 2654435761u;
}

int main()
{
    int n = 1 << 15;
    size_t bytes = n * sizeof(uint32_t);

    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = 0;
    cudaMemPool_t pool;
    CUDA_OK(cudaMemPoolCreate(&pool, &properties));
    uint64_t keep = UINT64_MAX;
    CUDA_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));

    cudaStream_t build, fill;
    CUDA_OK(cudaStreamCreateWithFlags(&build, cudaStreamNonBlocking));
    CUDA_OK(cudaStreamCreateWithFlags(&fill, cudaStreamNonBlocking));

    uint32_t* keys;
    uint32_t* slots;
    CUDA_OK(cudaMallocFromPoolAsync(&keys, bytes, pool, build));
    CUDA_OK(cudaMemsetAsync(keys, 1, bytes, build));
    CUDA_OK(cudaMallocFromPoolAsync(&slots, bytes, pool, fill));

    void* arguments[] = {&keys, &slots, &n};
    CUDA_OK(cudaLaunchKernel((const void*)hash, dim3(n / 256), dim3(256), arguments, 0, build));  // expect: SS103

    CUDA_OK(cudaFreeAsync(keys, build));
    CUDA_OK(cudaFreeAsync(slots, build));
    CUDA_OK(cudaStreamSynchronize(build));
    CUDA_OK(cudaStreamSynchronize(fill));
    CUDA_OK(cudaMemPoolDestroy(pool));
    CUDA_OK(cudaStreamDestroy(build));
    CUDA_OK(cudaStreamDestroy(fill));
    return 0;
}
