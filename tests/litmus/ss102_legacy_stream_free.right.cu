// The free goes to the default stream. That orders it after blocking streams, not after non-blocking ones.
#include <cuda_runtime.h>
#include <cassert>
#include <cstdio>

template <typename T>
T* device_array(size_t count, cudaStream_t stream)
{
    void* p = nullptr;
    cudaError_t status = cudaMallocAsync(&p, count * sizeof(T), stream);
    if (status != cudaSuccess) {
        std::fprintf(stderr, "allocation of %zu bytes failed\n", count * sizeof(T));
        return nullptr;
    }
    return static_cast<T*>(p);
}

template <typename T>
__global__ void fill(T* out, T value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}

int main()
{
    const int n = 1 << 20;
    cudaStream_t worker;
    cudaStreamCreate(&worker);

    float* samples = device_array<float>(n, worker);
    assert(samples != nullptr);
    fill<float><<<(n + 511) / 512, 512, 0, worker>>>(samples, 1.0f, n);
    fill<float><<<(n + 511) / 512, 512, 0, worker>>>(samples, 2.0f, n);

    cudaFreeAsync(samples, 0);

    cudaDeviceSynchronize();
    cudaStreamDestroy(worker);
    return 0;
}
