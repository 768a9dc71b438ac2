// A test harness resets the device between cases to start clean.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                     \
    do {                                                                     \
        cudaError_t err = (call);                                            \
        if (err != cudaSuccess) {                                            \
            fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(err)); \
            exit(EXIT_FAILURE);                                              \
        }                                                                    \
    } while (0)

__global__ void warm(float* data, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = data[i];
    for (int r = 0; r < rounds; ++r) v = v * 1.0001f + 0.5f;
    data[i] = v;
}

static void run_case(int rounds)
{
    float* data;
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreate(&stream));
    CUDA_CHECK(cudaMalloc(&data, 4096 * sizeof(float)));
    CUDA_CHECK(cudaMemsetAsync(data, 0, 4096 * sizeof(float), stream));
    warm<<<16, 256, 0, stream>>>(data, rounds);
    CUDA_CHECK(cudaGetLastError());
}

int main()
{
    run_case(1000);
    CUDA_CHECK(cudaDeviceReset());  // expect: SS106
    return 0;
}
