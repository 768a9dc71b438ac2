// Freeing an idle buffer in the middle of a run stops the host until the device is idle.
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

__global__ void spin(float* v, int rounds)
{
    for (int i = 0; i < rounds; ++i) v[threadIdx.x] += 1.0f;
}

int main()
{
    cudaStream_t stream;
    float *config, *device, *state;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaMalloc(&state, 256 * sizeof(float)));
    CUDA_CHECK(cudaMallocHost(&config, 4096));
    CUDA_CHECK(cudaMalloc(&device, 4096));
    config[0] = 1.0f;
    CUDA_CHECK(cudaMemcpy(device, config, 4096, cudaMemcpyHostToDevice));

    CUDA_CHECK(cudaMemsetAsync(state, 0, 256 * sizeof(float), stream));
    spin<<<1, 256, 0, stream>>>(state, 100000);
    CUDA_CHECK(cudaFree(device));  // expect-note: SS501
    CUDA_CHECK(cudaStreamSynchronize(stream));

    CUDA_CHECK(cudaFreeHost(config));
    CUDA_CHECK(cudaFree(state));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
