// Classes whose operator new takes managed memory: host and device see one object; the host reads it while the kernel writes.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <new>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

struct Managed {
    void* operator new(std::size_t bytes)
    {
        void* memory;
        CHECK(cudaMallocManaged(&memory, bytes));
        return memory;
    }
    void operator delete(void* memory)
    {
        cudaDeviceSynchronize();
        cudaFree(memory);
    }
};

struct Statistics : Managed {
    int count;
    float sum;
    explicit Statistics(int n) : count(n), sum(0) {}
};

__global__ void add_up(float* total, const float* in, int n)
{
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += in[i];
    *total = sum;
}

int main()
{
    const int n = 1 << 12;
    float* in;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMemset(in, 1, n * sizeof(float)));
    Statistics* statistics = new Statistics(n);
    CHECK(cudaDeviceSynchronize());
    add_up<<<1, 1>>>(&statistics->sum, in, n);
    CHECK(cudaDeviceSynchronize());
    std::printf("%d %f\n", statistics->count, statistics->sum);
    delete statistics;
    CHECK(cudaFree(in));
    return 0;
}
