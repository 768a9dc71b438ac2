// The workspace grows: a larger one is assigned over it, and the old block goes back while a kernel on another stream reads it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

class Stream {
public:
    Stream() { CHECK(cudaStreamCreateWithFlags(&raw_, cudaStreamNonBlocking)); }
    Stream(Stream&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    Stream& operator=(Stream&& other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~Stream()
    {
        if (raw_) cudaStreamDestroy(raw_);
    }
    cudaStream_t get() const { return raw_; }
    void wait() const { CHECK(cudaStreamSynchronize(raw_)); }

private:
    cudaStream_t raw_ = nullptr;
};

class Workspace {
public:
    Workspace() = default;
    Workspace(std::size_t bytes, const Stream& stream) : stream_(stream.get())
    {
        CHECK(cudaMallocAsync(&data_, bytes, stream_));
    }
    Workspace(Workspace&& other) noexcept : data_(std::exchange(other.data_, nullptr)), stream_(other.stream_) {}
    Workspace& operator=(Workspace&& other) noexcept
    {
        if (this != &other) {
            release();
            data_ = std::exchange(other.data_, nullptr);
            stream_ = other.stream_;
        }
        return *this;
    }
    ~Workspace() { release(); }
    float* data() const { return static_cast<float*>(data_); }

private:
    void release() noexcept
    {
        if (data_) cudaFreeAsync(data_, stream_);
        data_ = nullptr;
    }
    void* data_ = nullptr;
    cudaStream_t stream_ = nullptr;
};

__global__ void spread(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = n - i;
}

int main()
{
    Stream memory, compute;
    Workspace workspace;
    for (int n = 1 << 12; n <= 1 << 14; n *= 2) {
        workspace = Workspace(n * sizeof(float), memory);
        memory.wait();
        spread<<<n / 256, 256, 0, compute.get()>>>(workspace.data(), n);
        compute.wait();
    }
    return 0;
}
