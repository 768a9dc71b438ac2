// Buffer's destructor frees in the stream of its constructor; the last reader runs in another one.
// On hardware the second Buffer gets the block of the first, and the delayed reader finds its contents.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

inline void require(cudaError_t status)
{
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorName(status));
}

class Stream {
public:
    Stream() { require(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamDestroy(handle_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator cudaStream_t() const { return handle_; }
    void wait() const { require(cudaStreamSynchronize(handle_)); }

private:
    cudaStream_t handle_ = nullptr;
};

class Buffer {
public:
    Buffer(size_t words, cudaStream_t stream) : stream_(stream)
    {
        require(cudaMallocAsync(&data_, words * sizeof(unsigned), stream_));
    }
    ~Buffer() { cudaFreeAsync(data_, stream_); }  // expect: SS102
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    unsigned* data() const { return data_; }

private:
    unsigned* data_ = nullptr;
    cudaStream_t stream_;
};

__global__ void busy(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void hash(unsigned* data, unsigned seed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = (seed + i) * 2654435761u;
}

__global__ void invert(const unsigned* data, unsigned* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = ~data[i];
}

static int run()
{
    const int n = 1 << 20;
    Stream load, work;
    unsigned* out = nullptr;
    require(cudaMalloc(&out, n * sizeof(unsigned)));
    {
        Buffer first(n, load);
        hash<<<n / 256, 256, 0, load>>>(first.data(), 1u, n);
        load.wait();
        busy<<<1, 1, 0, work>>>(100'000'000);
        invert<<<n / 256, 256, 0, work>>>(first.data(), out, n);
    }
    {
        Buffer second(n, load);
        hash<<<n / 256, 256, 0, load>>>(second.data(), 99u, n);
    }
    work.wait();
    std::vector<unsigned> host(n);
    require(cudaMemcpy(host.data(), out, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    require(cudaFree(out));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != ~((1u + i) * 2654435761u);
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    try {
        return run();
    } catch (const std::runtime_error& error) {
        std::printf("error: %s\n", error.what());
        return 1;
    }
}
