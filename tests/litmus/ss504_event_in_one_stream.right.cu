// An event recorded and waited for in one stream: the stream's own order already says so.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(x)                                        \
    do {                                                     \
        cudaError_t e = (x);                                 \
        if (e != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(e));  \
            exit(1);                                         \
        }                                                    \
    } while (0)

__global__ void first(float* v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = 1.0f;
}

__global__ void second(float* v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] += 1.0f;
}

int main()
{
    const int n = 1 << 16;
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    float* v;
    CUDA_CHECK(cudaMallocAsync(&v, n * sizeof(float), stream));
    first<<<n / 256, 256, 0, stream>>>(v, n);
    second<<<n / 256, 256, 0, stream>>>(v, n);
    CUDA_CHECK(cudaFreeAsync(v, stream));

    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
