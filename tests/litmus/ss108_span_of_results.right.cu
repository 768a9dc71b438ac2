// A view of pinned memory is returned by a function that only queued the download.
#include <cuda_runtime.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

template <typename T>
class Span {
public:
    Span(T* data, std::size_t size) : data_(data), size_(size) {}
    T* begin() const { return data_; }
    T* end() const { return data_ + size_; }

private:
    T* data_;
    std::size_t size_;
};

class Counter {
public:
    explicit Counter(int n) : n_(n)
    {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECK(cudaMalloc(&device_, n_ * sizeof(int)));
        CHECK(cudaMallocHost(&host_, n_ * sizeof(int)));
    }
    ~Counter()
    {
        cudaStreamSynchronize(stream_);
        cudaFreeHost(host_);
        cudaFree(device_);
        cudaStreamDestroy(stream_);
    }
    Span<const int> count();

private:
    int n_;
    int *device_, *host_;
    cudaStream_t stream_;
};

__global__ void count_kernel(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = i % 7;
}

Span<const int> Counter::count()
{
    count_kernel<<<n_ / 256, 256, 0, stream_>>>(device_, n_);
    CHECK(cudaMemcpyAsync(host_, device_, n_ * sizeof(int), cudaMemcpyDeviceToHost, stream_));
    CHECK(cudaStreamSynchronize(stream_));
    return {host_, static_cast<std::size_t>(n_)};
}

int main()
{
    Counter counter(1 << 12);
    const Span<const int> counts = counter.count();
    std::printf("%d\n", std::accumulate(counts.begin(), counts.end(), 0));
    return 0;
}
