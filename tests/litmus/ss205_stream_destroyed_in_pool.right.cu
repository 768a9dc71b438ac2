// A pool of streams is shrunk, the index of the round robin is not.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                        \
    do {                                                     \
        cudaError_t e = (x);                                 \
        if (e != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(e));  \
            exit(1);                                         \
        }                                                    \
    } while (0)

__global__ void touch(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += 1.0f;
}

int main()
{
    const int n = 1 << 14;
    const int count = 4;
    cudaStream_t streams[count];
    float* buffers[count];
    for (int i = 0; i < count; ++i) {
        CUDA_CHECK(cudaStreamCreate(&streams[i]));
        CUDA_CHECK(cudaMalloc(&buffers[i], n * sizeof(float)));
        CUDA_CHECK(cudaMemsetAsync(buffers[i], 0, n * sizeof(float), streams[i]));
    }
    CUDA_CHECK(cudaDeviceSynchronize());

    const int kept = 2;
    for (int i = kept; i < count; ++i) CUDA_CHECK(cudaStreamDestroy(streams[i]));

    for (int i = 0; i < count; ++i) {
        touch<<<n / 256, 256, 0, streams[i % kept]>>>(buffers[i], n);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());

    for (int i = 0; i < count; ++i) CUDA_CHECK(cudaFree(buffers[i]));
    for (int i = 0; i < kept; ++i) CUDA_CHECK(cudaStreamDestroy(streams[i]));
    return 0;
}
