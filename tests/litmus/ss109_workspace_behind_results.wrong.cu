// Results and a workspace share an allocation; the workspace is cleared from where the results begin.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

__global__ void scale(float* x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

struct Arena {
    float* base = nullptr;
    size_t results, scratch;  // in elements

    Arena(size_t results, size_t scratch) : results(results), scratch(scratch)
    {
        CHECK(cudaMalloc(&base, (results + scratch) * sizeof(float)));
    }
    ~Arena() { cudaFree(base); }
    float* workspace() { return base + results; }
};

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    cudaStream_t work, clear;
    CHECK(cudaStreamCreate(&work));
    CHECK(cudaStreamCreate(&clear));
    {
        Arena arena(n, n / 2);
        CHECK(cudaMemset(arena.base, 0, (arena.results + arena.scratch) * sizeof(float)));
        CHECK(cudaDeviceSynchronize());
        scale<<<(n + 255) / 256, 256, 0, work>>>(arena.base, 2.0f, n);
        CHECK(cudaGetLastError());
        CHECK(cudaMemsetAsync(arena.base, 0, arena.scratch * sizeof(float), clear));  // expect: SS109
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(clear));
}
