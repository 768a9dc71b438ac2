// A buffer that "grows": every turn of the loop overwrites the only pointer to the last one.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                   \
    do {                                                                   \
        cudaError_t error = (call);                                        \
        if (error != cudaSuccess) {                                        \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(error));       \
            std::exit(1);                                                  \
        }                                                                  \
    } while (0)

__global__ void seed(unsigned* state, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) state[i] = 1664525u * i + 1013904223u;
}

int main()
{
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreate(&stream));

    unsigned* state = nullptr;
    for (int n = 1 << 10; n <= 1 << 14; n *= 2) {
        CUDA_CHECK(cudaMallocAsync(&state, n * sizeof(unsigned), stream));  // expect: SS305
        seed<<<(n + 255) / 256, 256, 0, stream>>>(state, n);
        CUDA_CHECK(cudaGetLastError());
    }

    CUDA_CHECK(cudaFreeAsync(state, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
