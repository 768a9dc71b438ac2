// Memory allocated in the order of one stream and used at once on another.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                              \
    do {                                                              \
        const cudaError_t status = call;                              \
        if (status != cudaSuccess) {                                  \
            fprintf(stderr, "CUDA: %s (%s:%d)\n", cudaGetErrorString(status), __FILE__, __LINE__); \
            exit(EXIT_FAILURE);                                       \
        }                                                             \
    } while (0)

__global__ void init(float* field, float value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) field[i] = value;
}

int main()
{
    const int n = 1 << 20;
    cudaStream_t allocation, compute;
    CUDA_CHECK(cudaStreamCreateWithFlags(&allocation, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    cudaEvent_t allocated;
    CUDA_CHECK(cudaEventCreateWithFlags(&allocated, cudaEventDisableTiming));

    float* field = nullptr;
    CUDA_CHECK(cudaMallocAsync((void**)&field, n * sizeof(float), allocation));
    CUDA_CHECK(cudaEventRecord(allocated, allocation));
    CUDA_CHECK(cudaStreamWaitEvent(compute, allocated, 0));

    init<<<(n + 255) / 256, 256, 0, compute>>>(field, 1.0f, n);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaFreeAsync(field, compute));

    CUDA_CHECK(cudaStreamSynchronize(compute));
    CUDA_CHECK(cudaStreamSynchronize(allocation));
    CUDA_CHECK(cudaEventDestroy(allocated));
    CUDA_CHECK(cudaStreamDestroy(compute));
    CUDA_CHECK(cudaStreamDestroy(allocation));
    return 0;
}
