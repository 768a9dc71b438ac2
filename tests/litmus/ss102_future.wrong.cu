// A consumer in std::async. get() hands its result over, the kernel it launched may still be running.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <future>

#define CUDA_CHECK(x)                                        \
    do {                                                     \
        cudaError_t e = (x);                                 \
        if (e != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(e));  \
            exit(1);                                         \
        }                                                    \
    } while (0)

__global__ void digest(const unsigned* words, unsigned* sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicXor(sum, words[i]);
}

int main()
{
    const int n = 1 << 16;
    cudaStream_t produce, consume;
    CUDA_CHECK(cudaStreamCreateWithFlags(&produce, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&consume, cudaStreamNonBlocking));
    unsigned *words, *sum;
    CUDA_CHECK(cudaMalloc(&sum, sizeof(unsigned)));
    CUDA_CHECK(cudaMemsetAsync(sum, 0, sizeof(unsigned), consume));
    CUDA_CHECK(cudaMallocAsync(&words, n * sizeof(unsigned), produce));
    CUDA_CHECK(cudaMemsetAsync(words, 0xA5, n * sizeof(unsigned), produce));
    CUDA_CHECK(cudaStreamSynchronize(produce));

    auto consumer = std::async(std::launch::async, [=]() -> unsigned {
        unsigned result = 0;
        CUDA_CHECK(cudaSetDevice(0));
        digest<<<n / 256, 256, 0, consume>>>(words, sum, n);
        return result;
    });
    unsigned value = consumer.get();
    CUDA_CHECK(cudaFreeAsync(words, produce));  // expect: SS102

    printf("%08x\n", value);
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFree(sum));
    CUDA_CHECK(cudaStreamDestroy(produce));
    CUDA_CHECK(cudaStreamDestroy(consume));
    return 0;
}
