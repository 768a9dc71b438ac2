// A host function is a lambda that captures by reference; its scope is left before the stream has come to it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <functional>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

__global__ void count_up(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = i + 1;
}

static void CUDART_CB trampoline(void* data)
{
    auto& work = *static_cast<std::function<void()>*>(data);
    work();
}

static int last(int* device, int* host, int n, cudaStream_t stream)
{
    int seen = 0;
    std::function<void()> work = [&] { seen = host[n - 1]; };
    count_up<<<n / 256, 256, 0, stream>>>(device, n);
    CHECK(cudaMemcpyAsync(host, device, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, trampoline, &work));
    return seen;
}  // expect: SS108

int main()
{
    const int n = 1 << 14;
    int *device, *host;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    CHECK(cudaMallocHost(&host, n * sizeof(int)));
    std::printf("%d\n", last(device, host, n, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
