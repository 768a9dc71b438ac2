// Before the free the host waits for a stream: for the loader's, which has been idle for long, not for the reader's.
// On hardware the pool hands the block out again, and the delayed reader finds the new contents.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace gpu {
inline void check(cudaError_t status)
{
    if (status == cudaSuccess) return;
    std::printf("error: %s\n", cudaGetErrorString(status));
    std::exit(1);
}

template <typename T>
T* allocate(size_t count, cudaStream_t stream)
{
    void* p = nullptr;
    check(cudaMallocAsync(&p, count * sizeof(T), stream));
    return static_cast<T*>(p);
}
}  // namespace gpu

__global__ void pause_reader(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

template <typename T>
__global__ void iota(T* values, T first, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = first + static_cast<T>(i);
}

template <typename T>
__global__ void negate(const T* values, T* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = -values[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20;
    cudaStream_t loader, reader;
    gpu::check(cudaStreamCreateWithFlags(&loader, cudaStreamNonBlocking));
    gpu::check(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
    int* out = nullptr;
    gpu::check(cudaMalloc(&out, n * sizeof(int)));

    int* batch = gpu::allocate<int>(n, loader);
    iota<int><<<n / 128, 128, 0, loader>>>(batch, 1, n);
    gpu::check(cudaStreamSynchronize(loader));
    pause_reader<<<1, 1, 0, reader>>>(100'000'000);
    negate<int><<<n / 128, 128, 0, reader>>>(batch, out, n);

    gpu::check(cudaStreamSynchronize(loader));
    gpu::check(cudaFree(batch));  // expect: SS102

    int* next = gpu::allocate<int>(n, loader);
    iota<int><<<n / 128, 128, 0, loader>>>(next, n, n);
    gpu::check(cudaFreeAsync(next, loader));

    gpu::check(cudaStreamSynchronize(reader));
    std::vector<int> host(n);
    gpu::check(cudaMemcpy(host.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != -(1 + i);
    std::printf("wrong words: %d\n", wrong);
    gpu::check(cudaFree(out));
    gpu::check(cudaStreamDestroy(reader));
    gpu::check(cudaStreamDestroy(loader));
    return wrong != 0;
}
