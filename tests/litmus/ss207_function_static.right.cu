// A singleton: made at its first use, inside main, and destroyed after main.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>

class Arena {
public:
    static Arena& instance()
    {
        static Arena* arena = new Arena(1 << 20);
        return *arena;
    }
    void* take(size_t bytes)
    {
        char* p = base_ + used_;
        used_ += (bytes + 255) / 256 * 256;
        return p;
    }
    ~Arena()
    {
        cudaFree(base_);
    }

private:
    explicit Arena(size_t bytes)
    {
        if (cudaMalloc(&base_, bytes) != cudaSuccess) {
            std::fprintf(stderr, "arena\n");
            std::exit(1);
        }
    }
    char* base_ = nullptr;
    size_t used_ = 0;
};

__global__ void count(int* v) { atomicAdd(v, 1); }

int main()
{
    int* v = static_cast<int*>(Arena::instance().take(sizeof(int)));
    int* w = static_cast<int*>(Arena::instance().take(sizeof(int)));
    cudaMemset(v, 0, sizeof(int));
    cudaMemset(w, 0, sizeof(int));
    count<<<1, 32>>>(v);
    count<<<1, 32>>>(w);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    return 0;
}
