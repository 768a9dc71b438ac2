// `Buffer halo(rows * sizeof(float), edge);` makes an object, though a parser may take it for a function's declaration.
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

static void check(cudaError_t status, const char* what)
{
    if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
#define CHECK(call) check(call, #call)

struct Stream {
    cudaStream_t raw;
    Stream() { CHECK(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamDestroy(raw); }
    Stream(const Stream&) = delete;
    operator cudaStream_t() const { return raw; }
};

class Buffer {
public:
    Buffer(std::size_t bytes, cudaStream_t stream) : stream_(stream) { CHECK(cudaMallocAsync(&data_, bytes, stream)); }
    ~Buffer() { cudaFreeAsync(data_, stream_); }  // expect: SS102
    Buffer(const Buffer&) = delete;
    float* data() const { return static_cast<float*>(data_); }

private:
    void* data_ = nullptr;
    cudaStream_t stream_;
};

struct Event {
    cudaEvent_t raw;
    Event() { CHECK(cudaEventCreateWithFlags(&raw, cudaEventDisableTiming)); }
    ~Event() { cudaEventDestroy(raw); }
    void between(cudaStream_t before, cudaStream_t after) const
    {
        CHECK(cudaEventRecord(raw, before));
        CHECK(cudaStreamWaitEvent(after, raw, 0));
    }
};

__global__ void relax(float* field, const float* halo, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) field[i] += 0.5f * halo[i];
}

static void step(float* field, int rows, cudaStream_t edge, cudaStream_t inner)
{
    Buffer halo(rows * sizeof(float), edge);
    CHECK(cudaMemsetAsync(halo.data(), 0, rows * sizeof(float), edge));
    Event ready, read;
    ready.between(edge, inner);
    relax<<<rows / 256, 256, 0, inner>>>(field, halo.data(), rows);
}

int main()
{
    const int rows = 1 << 14;
    Stream edge, inner;
    {
        Buffer field(rows * sizeof(float), inner);
        CHECK(cudaMemsetAsync(field.data(), 1, rows * sizeof(float), inner));
        for (int i = 0; i < 3; ++i) step(field.data(), rows, edge, inner);
    }
    CHECK(cudaStreamSynchronize(inner));
    CHECK(cudaStreamSynchronize(edge));
    return 0;
}
