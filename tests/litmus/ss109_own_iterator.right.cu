// Chunks come from a range with iterators of its own; the chunk after the last whole one is processed on the wrong stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

struct Chunk {
    int begin, size;
};

class Chunks {
public:
    class Iterator {
    public:
        Iterator(int at, int total, int step) : at_(at), total_(total), step_(step) {}
        Chunk operator*() const { return {at_, at_ + step_ <= total_ ? step_ : total_ - at_}; }
        Iterator& operator++()
        {
            at_ += step_;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return at_ < other.at_; }

    private:
        int at_, total_, step_;
    };
    Chunks(int total, int step) : total_(total), step_(step) {}
    Iterator begin() const { return {0, total_, step_}; }
    Iterator end() const { return {total_, total_, step_}; }

private:
    int total_, step_;
};

__global__ void fill(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 4.0f;
}

__global__ void root(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = sqrtf(p[i]);
}

int main()
{
    const int n = 10000;
    float* p;
    cudaStream_t filling, rooting;
    CHECK(cudaStreamCreateWithFlags(&filling, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&rooting, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&p, n * sizeof(float)));
    for (const Chunk& chunk : Chunks(n, 4096)) {
        fill<<<(chunk.size + 255) / 256, 256, 0, filling>>>(p + chunk.begin, chunk.size);
        root<<<(chunk.size + 255) / 256, 256, 0, filling>>>(p + chunk.begin, chunk.size);
    }
    CHECK(cudaStreamSynchronize(filling));
    CHECK(cudaStreamSynchronize(rooting));
    CHECK(cudaFree(p));
    CHECK(cudaStreamDestroy(rooting));
    CHECK(cudaStreamDestroy(filling));
    return 0;
}
