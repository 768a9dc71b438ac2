// Part of the work is done by a function that only the dynamic linker knows.
#include <cuda_runtime.h>
#include <dlfcn.h>
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

using filter_fn = int (*)(float*, int, cudaStream_t);

__global__ void prepare(float* v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = 0.5f * i;
}

__global__ void filter(float* v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = v[i] * v[i];
}

int main(int argc, char** argv)
{
    const int n = 4096;
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreate(&stream));
    float* v;
    CUDA_CHECK(cudaMallocAsync(&v, n * sizeof(float), stream));
    prepare<<<n / 256, 256, 0, stream>>>(v, n);
    filter<<<n / 256, 256, 0, stream>>>(v, n);
    CUDA_CHECK(cudaFreeAsync(v, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
