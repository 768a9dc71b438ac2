// Buffers over an abstract memory resource: the virtual call decides which free it is, the buffer in which stream.
#include <cuda_runtime.h>
#include <cstddef>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <utility>

struct stream_view {
    cudaStream_t value{};
    void synchronize() const
    {
        if (cudaStreamSynchronize(value) != cudaSuccess) throw std::runtime_error("synchronize");
    }
};

class memory_resource {
public:
    virtual ~memory_resource() = default;
    void* allocate(std::size_t bytes, stream_view stream) { return do_allocate(bytes, stream); }
    void deallocate(void* p, std::size_t bytes, stream_view stream) { do_deallocate(p, bytes, stream); }

private:
    virtual void* do_allocate(std::size_t bytes, stream_view stream) = 0;
    virtual void do_deallocate(void* p, std::size_t bytes, stream_view stream) = 0;
};

class async_resource final : public memory_resource {
    void* do_allocate(std::size_t bytes, stream_view stream) override
    {
        void* p = nullptr;
        if (cudaMallocAsync(&p, bytes, stream.value) != cudaSuccess) throw std::bad_alloc{};
        return p;
    }
    void do_deallocate(void* p, std::size_t, stream_view stream) override
    {
        cudaFreeAsync(p, stream.value);
    }
};

class buffer {
public:
    buffer(std::size_t bytes, stream_view stream, memory_resource* mr)
        : bytes_{bytes}, stream_{stream}, mr_{mr}, data_{mr->allocate(bytes, stream)}
    {
    }
    buffer(buffer&& other) noexcept
        : bytes_{other.bytes_}, stream_{other.stream_}, mr_{other.mr_}, data_{std::exchange(other.data_, nullptr)}
    {
    }
    ~buffer()
    {
        if (data_) mr_->deallocate(data_, bytes_, stream_);
    }
    void* data() const noexcept { return data_; }
    void set_stream(stream_view stream) noexcept { stream_ = stream; }

private:
    std::size_t bytes_;
    stream_view stream_;
    memory_resource* mr_;
    void* data_;
};

__global__ void encode(unsigned char* p, std::size_t n)
{
    std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
    if (i < n) p[i] = static_cast<unsigned char>(i);
}

static buffer make_table(std::size_t n, stream_view stream, memory_resource& mr)
{
    buffer table(n, stream, &mr);
    if (cudaMemsetAsync(table.data(), 0, n, stream.value) != cudaSuccess) throw std::runtime_error("memset");
    return table;
}

int main()
{
    const std::size_t n = 1 << 16;
    async_resource mr;
    stream_view first, second;
    if (cudaStreamCreateWithFlags(&first.value, cudaStreamNonBlocking) != cudaSuccess) return 1;
    if (cudaStreamCreateWithFlags(&second.value, cudaStreamNonBlocking) != cudaSuccess) return 1;
    {
        buffer table = make_table(n, first, mr);
        first.synchronize();
        encode<<<static_cast<unsigned>(n / 256), 256, 0, second.value>>>(static_cast<unsigned char*>(table.data()), n);
        table.set_stream(second);
    }
    first.synchronize();
    second.synchronize();
    cudaStreamDestroy(first.value);
    cudaStreamDestroy(second.value);
    std::puts("done");
    return 0;
}
