// Double buffering with two pinned slots. The slot is refilled without asking whether its upload is complete.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(x)                                                         \
    do {                                                                      \
        cudaError_t e_ = (x);                                                 \
        if (e_ != cudaSuccess) {                                              \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

__global__ void reduce(const int* chunk, int* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, chunk[i]);
}

int main()
{
    const int n = 1 << 16;
    const int chunks = 6;

    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int* host[2];
    int* device[2];
    cudaEvent_t uploaded[2];
    for (int i = 0; i < 2; ++i) {
        CUDA_CHECK(cudaMallocHost((void**)&host[i], n * sizeof(int)));
        CUDA_CHECK(cudaMalloc((void**)&device[i], n * sizeof(int)));
        CUDA_CHECK(cudaEventCreateWithFlags(&uploaded[i], cudaEventDisableTiming));
    }
    int* total;
    CUDA_CHECK(cudaMalloc((void**)&total, sizeof(int)));
    CUDA_CHECK(cudaMemsetAsync(total, 0, sizeof(int), stream));

    for (int c = 0; c < chunks; ++c) {
        int slot = c % 2;
        CUDA_CHECK(cudaEventSynchronize(uploaded[slot]));
        for (int i = 0; i < n; ++i) {
            host[slot][i] = c;
        }
        CUDA_CHECK(cudaMemcpyAsync(device[slot], host[slot], n * sizeof(int), cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaEventRecord(uploaded[slot], stream));
        reduce<<<n / 256, 256, 0, stream>>>(device[slot], total, n);
    }

    CUDA_CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 2; ++i) {
        CUDA_CHECK(cudaEventDestroy(uploaded[i]));
        CUDA_CHECK(cudaFreeHost(host[i]));
        CUDA_CHECK(cudaFree(device[i]));
    }
    CUDA_CHECK(cudaFree(total));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
