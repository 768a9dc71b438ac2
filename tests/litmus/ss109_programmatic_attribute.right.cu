// The sum is launched as an ordinary kernel: it begins when the counts are complete.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

__global__ void count(int *bins, const int *keys, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[keys[i]], 1);
}

__global__ void total(int *sum, const int *bins, int n)
{
    int found = 0;
    for (int i = 0; i < n; ++i) found += bins[i];
    *sum = found;
}

void launch_total(cudaStream_t stream, int *sum, int *bins, int n)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(1);
    config.stream = stream;
    cudaLaunchAttribute attributes[1] = {};
    attributes[0].id = cudaLaunchAttributePriority;
    attributes[0].val.priority = 0;
    config.attrs = attributes;
    config.numAttrs = 1;
    void *arguments[] = {&sum, &bins, &n};
    CHECK(cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(&total), arguments));
}

int main()
{
    const int n = 1 << 14, bins_count = 64;
    int *keys, *bins, *sum;
    CHECK(cudaMalloc(&keys, n * sizeof(int)));
    CHECK(cudaMalloc(&bins, bins_count * sizeof(int)));
    CHECK(cudaMalloc(&sum, sizeof(int)));
    CHECK(cudaMemset(keys, 0, n * sizeof(int)));
    CHECK(cudaMemset(bins, 0, bins_count * sizeof(int)));
    count<<<n / 256, 256>>>(bins, keys, n);
    launch_total(nullptr, sum, bins, bins_count);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(keys));
    CHECK(cudaFree(bins));
    CHECK(cudaFree(sum));
    return 0;
}
