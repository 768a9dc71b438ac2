// A benchmark resets the device between two runs and goes on with the buffer of the first.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                            \
{                                                                              \
    const cudaError_t error = call;                                            \
    if (error != cudaSuccess)                                                  \
    {                                                                          \
        fprintf(stderr, "Error: %s:%d, ", __FILE__, __LINE__);                 \
        fprintf(stderr, "code: %d, reason: %s\n", error,                       \
                cudaGetErrorString(error));                                    \
        exit(1);                                                               \
    }                                                                          \
}

__global__ void triad(float *a, const float *b, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] + s * b[i];
}

static void run(float *a, float *b, int n)
{
    triad<<<(n + 255) / 256, 256>>>(a, b, 3.0f, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

int main(void)
{
    const int n = 1 << 20;
    float *a, *b;
    CHECK(cudaMalloc((float **)&a, n * sizeof(float)));
    CHECK(cudaMalloc((float **)&b, n * sizeof(float)));
    CHECK(cudaMemset(a, 0, n * sizeof(float)));
    CHECK(cudaMemset(b, 0, n * sizeof(float)));
    run(a, b, n);

    CHECK(cudaDeviceReset());
    CHECK(cudaMemset(a, 0, n * sizeof(float)));  // expect: SS101
    CHECK(cudaMemset(b, 0, n * sizeof(float)));  // expect: SS101
    CHECK(cudaDeviceSynchronize());
    return 0;
}
