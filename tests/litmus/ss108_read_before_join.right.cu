// A vector of threads downloads the parts, each and waits for its stream; main adds the parts up before the threads are joined.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

constexpr int kParts = 2, kCount = 1 << 12;

__global__ void ones(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 1;
}

static void fetch(int part, const int* device, int* host)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const std::size_t at = std::size_t(part) * kCount;
    CHECK(cudaMemcpyAsync(host + at, device + at, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
}

int main()
{
    int *device, *host;
    CHECK(cudaMalloc(&device, kParts * kCount * sizeof(int)));
    CHECK(cudaHostAlloc(&host, kParts * kCount * sizeof(int), cudaHostAllocDefault));
    ones<<<kParts * kCount / 256, 256>>>(device, kParts * kCount);
    CHECK(cudaDeviceSynchronize());
    std::vector<std::thread> threads;
    for (int part = 0; part < kParts; ++part) threads.emplace_back(fetch, part, device, host);
    for (std::thread& thread : threads) thread.join();
    long sum = 0;
    for (int i = 0; i < kParts * kCount; ++i) sum += host[i];
    std::printf("%ld\n", sum);
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    return 0;
}
