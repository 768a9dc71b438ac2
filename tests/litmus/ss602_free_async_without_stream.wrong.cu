// cudaFreeAsync needs the stream in whose order the memory is freed; no version has a default for it.
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

__global__ void clear(int* v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = 0;
}

int main()
{
    const int n = 1 << 12;
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreate(&stream));
    int* v;
    CUDA_CHECK(cudaMallocAsync(&v, n * sizeof(int), stream));
    clear<<<n / 256, 256, 0, stream>>>(v, n);
    CUDA_CHECK(cudaFreeAsync(v));  // expect: SS602
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
