// The worst case for a recorder: tiny kernels as fast as they can be launched, a stream-ordered pair every fourth.
// Prints the microseconds of one launch: the least of some rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "check.cuh"

__global__ void tiny(float* data, int n)
{
    if (n < 0) data[0] = 1;
}

static void launches(int count, float* kept, cudaStream_t stream)
{
    for (int i = 0; i < count; ++i) {
        if (i % 4 != 0) {
            tiny<<<1, 32, 0, stream>>>(kept, 1);
            continue;
        }
        float* scratch = nullptr;
        CHECK(cudaMallocAsync(&scratch, 4096, stream));
        tiny<<<1, 32, 0, stream>>>(scratch, 1);
        CHECK(cudaFreeAsync(scratch, stream));
    }
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char** argv)
{
    const int count = argc > 1 ? std::atoi(argv[1]) : 300000;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
    float* kept = nullptr;
    cudaStream_t stream;
    CHECK(cudaMalloc(&kept, 1024));
    CHECK(cudaStreamCreate(&stream));
    launches(2000, kept, stream);
    double least = 1e9;
    for (int round = 0; round < rounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        launches(count, kept, stream);
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        least = std::min(least, took.count() / count);
    }
    std::printf("%.4f\n", least);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(kept));
    return 0;
}
