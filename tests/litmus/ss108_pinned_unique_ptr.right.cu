// Pinned memory in a unique_ptr with a function as its deleter; the host looks at the histogram before the stream is done.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

constexpr int kBins = 256;

__global__ void histogram(const unsigned char* in, unsigned* bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[in[i]], 1u);
}

using PinnedBins = std::unique_ptr<unsigned[], decltype(&cudaFreeHost)>;

static PinnedBins pinned_bins()
{
    void* memory = nullptr;
    CHECK(cudaHostAlloc(&memory, kBins * sizeof(unsigned), cudaHostAllocDefault));
    return PinnedBins(static_cast<unsigned*>(memory), &cudaFreeHost);
}

int main()
{
    const int n = 1 << 20;
    unsigned char* image;
    unsigned* bins;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&image, n));
    CHECK(cudaMalloc(&bins, kBins * sizeof(unsigned)));
    CHECK(cudaMemsetAsync(image, 9, n, stream));
    CHECK(cudaMemsetAsync(bins, 0, kBins * sizeof(unsigned), stream));
    PinnedBins host = pinned_bins();
    histogram<<<n / 256, 256, 0, stream>>>(image, bins, n);
    CHECK(cudaMemcpyAsync(host.get(), bins, kBins * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    const unsigned most = *std::max_element(host.get(), host.get() + kBins);
    std::printf("%u\n", most);
    CHECK(cudaFree(bins));
    CHECK(cudaFree(image));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
