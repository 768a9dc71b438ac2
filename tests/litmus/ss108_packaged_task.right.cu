// The download runs in a task on another thread. Leaving the scope of a packaged task's future waits for nothing.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

constexpr int N = 1 << 16;

__global__ void ramp(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = i;
}

static void download(int* to, const int* from, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(to, from, N * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
}

int main()
{
    int *host, *device;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&host, N * sizeof(int)));
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    ramp<<<N / 256, 256, 0, stream>>>(device, N);
    {
        std::future<void> done = std::async(std::launch::async, download, host, device, stream);
    }
    std::printf("%d\n", host[N - 1]);
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
