// A cache for each type: the static members of a class template. Two types are meant to have one each, and share a block.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

template <typename T>
class Cache {
public:
    static void put(T* block) { held_ = block; }
    static T* get() { return held_; }
    static void clear()
    {
        if (held_) CHECK(cudaFree(held_));
        held_ = nullptr;
    }

private:
    static T* held_;
};
template <typename T>
T* Cache<T>::held_ = nullptr;

__global__ void set(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 3.0f;
}

int main()
{
    const int n = 1 << 12;
    float* block;
    CHECK(cudaMalloc((void**)&block, n * sizeof(float)));
    Cache<float>::put(block);
    set<<<n / 256, 256>>>(Cache<float>::get(), n);
    CHECK(cudaDeviceSynchronize());
    Cache<float>::clear();
    Cache<int>::clear();
    return 0;
}
