// Streams in a class that can be copied: a copy that goes out of scope destroys the stream of the one that stays.
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
    Stream(const Stream& other) = default;
    ~Stream()
    {
        if (raw_) cudaStreamDestroy(raw_);
    }
    cudaStream_t get() const { return raw_; }

private:
    cudaStream_t raw_;
};

__global__ void zero(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 0;
}

struct Worker {
    Stream stream;
    explicit Worker(const Stream& given) : stream(given) {}
    void run(int* p, int n) const { zero<<<n / 256, 256, 0, stream.get()>>>(p, n); }
};

int main()
{
    const int n = 1 << 12;
    int* p;
    CHECK(cudaMalloc(&p, n * sizeof(int)));
    {
        Stream stream;
        Worker(stream).run(p, n);
        CHECK(cudaStreamSynchronize(stream.get()));  // expect: SS205
    }
    CHECK(cudaFree(p));
    return 0;
}
