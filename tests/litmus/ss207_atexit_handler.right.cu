// An exit handler frees device memory. By then the runtime may already be shutting down.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static float *cache = NULL;

static void release_cache(void)
{
    if (cache) {
        cudaFree(cache);
        cache = NULL;
    }
}

static float *get_cache(size_t count)
{
    if (!cache) {
        cudaError_t e = cudaMalloc((void **)&cache, count * sizeof(float));
        if (e != cudaSuccess) {
            fprintf(stderr, "cache: %s\n", cudaGetErrorString(e));
            exit(1);
        }
    }
    return cache;
}

__global__ void decay(float *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] *= 0.9f;
}

int main(void)
{
    const int n = 1 << 12;
    for (int i = 0; i < 3; i++) {
        float *v = get_cache(n);
        decay<<<n / 256, 256>>>(v, n);
    }
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    release_cache();
    return 0;
}
