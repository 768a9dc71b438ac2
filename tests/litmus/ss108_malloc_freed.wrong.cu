// A download into malloc'ed memory that an early return frees before the copy is complete.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CUDA_CALL(x) do { if ((x) != cudaSuccess) { \
    printf("Error at %s:%d\n", __FILE__, __LINE__); \
    return EXIT_FAILURE; } } while (0)

__global__ void iota(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}

int main(int argc, char **argv)
{
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(int);
    int *device;
    cudaStream_t stream;
    int *host = (int *)malloc(bytes);
    if (host == NULL) {
        return EXIT_FAILURE;
    }
    CUDA_CALL(cudaStreamCreate(&stream));
    CUDA_CALL(cudaMalloc((void **)&device, bytes));

    iota<<<n / 256, 256, 0, stream>>>(device, n);
    CUDA_CALL(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
    free(host);  // expect: SS108
    CUDA_CALL(cudaStreamSynchronize(stream));

    CUDA_CALL(cudaFree(device));
    CUDA_CALL(cudaStreamDestroy(stream));
    return EXIT_SUCCESS;
}
