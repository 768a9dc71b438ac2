// Special members are declared in the class and defaulted behind it: a defaulted copy of a raw pointer owns it twice.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

__global__ void ones(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 1.0f;
}

struct Release {
    void operator()(float* p) const { cudaFree(p); }
};

class Weights {
public:
    explicit Weights(int n);
    ~Weights();
    Weights(const Weights&);
    void reset();

private:
    float* data_;
    int count_;
};

Weights::Weights(int n) : count_(n)
{
    float* made;
    CHECK(cudaMalloc(&made, n * sizeof(float)));
    data_ = made;
}
Weights::Weights(const Weights&) = default;
Weights::~Weights() { cudaFree(data_); }  // expect: SS201

void Weights::reset()
{
    ones<<<count_ / 256, 256>>>(data_, count_);
}

int main()
{
    Weights loaded(1 << 12);
    loaded.reset();
    CHECK(cudaDeviceSynchronize());
    Weights active(loaded);
    active.reset();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
