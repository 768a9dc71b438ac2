// Stages as lambdas that capture streams and buffers by reference; std::swap turns the buffers over.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>

#define CUDA_CHECK(...)                                                          \
    do {                                                                         \
        cudaError_t status_ = (__VA_ARGS__);                                     \
        if (status_ != cudaSuccess) {                                            \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(status_));           \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

__global__ void step(const float* from, float* to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = 0.5f * from[i];
}

__global__ void energy(const float* field, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, field[i] * field[i]);
}

int main()
{
    const int n = 1 << 16;
    cudaStream_t solve, observe;
    CUDA_CHECK(cudaStreamCreateWithFlags(&solve, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&observe, cudaStreamNonBlocking));
    cudaEvent_t solved, observed;
    CUDA_CHECK(cudaEventCreateWithFlags(&solved, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&observed, cudaEventDisableTiming));

    float* current = nullptr;
    float* next = nullptr;
    float* total = nullptr;
    CUDA_CHECK(cudaMallocAsync(&current, n * sizeof(float), solve));
    CUDA_CHECK(cudaMemsetAsync(current, 0, n * sizeof(float), solve));
    CUDA_CHECK(cudaMalloc(&total, sizeof(float)));
    CUDA_CHECK(cudaMemsetAsync(total, 0, sizeof(float), observe));

    auto advance = [&] {
        CUDA_CHECK(cudaMallocAsync(&next, n * sizeof(float), solve));
        step<<<n / 256, 256, 0, solve>>>(current, next, n);
        CUDA_CHECK(cudaEventRecord(solved, solve));
    };
    auto look = [&](const float* field) {
        CUDA_CHECK(cudaStreamWaitEvent(observe, solved, 0));
        energy<<<n / 256, 256, 0, observe>>>(field, total, n);
        CUDA_CHECK(cudaEventRecord(observed, observe));
    };
    auto retire = [&](float* field) {
        CUDA_CHECK(cudaStreamWaitEvent(solve, observed, 0));
        CUDA_CHECK(cudaFreeAsync(field, solve));
    };

    for (int i = 0; i < 3; ++i) {
        advance();
        look(current);
        retire(current);
        std::swap(current, next);
    }
    CUDA_CHECK(cudaFreeAsync(current, solve));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFree(total));
    CUDA_CHECK(cudaEventDestroy(solved));
    CUDA_CHECK(cudaEventDestroy(observed));
    CUDA_CHECK(cudaStreamDestroy(solve));
    CUDA_CHECK(cudaStreamDestroy(observe));
    return 0;
}
