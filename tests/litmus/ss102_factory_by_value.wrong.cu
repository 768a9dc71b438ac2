// Factories return owners by value, named and unnamed; a cache keeps what a builder makes, with the wrong stream in it.
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>
#include <utility>

static void check(cudaError_t status, const char* what)
{
    if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
#define CHECK(call) check(call, #call)

class Block {
public:
    Block(void* data, cudaStream_t stream) : data_(data), stream_(stream) {}
    Block(Block&& other) noexcept : data_(std::exchange(other.data_, nullptr)), stream_(other.stream_) {}
    Block(const Block&) = delete;
    ~Block()
    {
        if (data_) cudaFreeAsync(data_, stream_);  // expect: SS102
    }
    template <typename T>
    T* as() const
    {
        return static_cast<T*>(data_);
    }

private:
    void* data_;
    cudaStream_t stream_;
};

class Builder {
public:
    Builder& bytes(std::size_t bytes)
    {
        bytes_ = bytes;
        return *this;
    }
    Builder& allocated_on(cudaStream_t stream)
    {
        allocated_on_ = stream;
        return *this;
    }
    Builder& freed_on(cudaStream_t stream)
    {
        freed_on_ = stream;
        return *this;
    }
    Block build() const
    {
        void* data;
        CHECK(cudaMallocAsync(&data, bytes_, allocated_on_));
        Block block(data, freed_on_ ? freed_on_ : allocated_on_);
        return block;
    }

private:
    std::size_t bytes_ = 0;
    cudaStream_t allocated_on_ = nullptr, freed_on_ = nullptr;
};

__global__ void mark(unsigned char* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 1;
}

struct Cache {
    Block block;
};

int main()
{
    const int n = 1 << 16;
    cudaStream_t memory, work;
    CHECK(cudaStreamCreateWithFlags(&memory, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    {
        Cache cache{Builder().bytes(n).allocated_on(memory).build()};
        CHECK(cudaStreamSynchronize(memory));
        mark<<<n / 256, 256, 0, work>>>(cache.block.as<unsigned char>(), n);
    }
    CHECK(cudaStreamSynchronize(work));
    CHECK(cudaStreamSynchronize(memory));
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(memory));
    return 0;
}
