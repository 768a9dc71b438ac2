// Registered memory came from malloc; cudaFreeHost is for cudaMallocHost and cudaHostAlloc only.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK_CUDA(func)                                                     \
    {                                                                        \
        cudaError_t status = (func);                                         \
        if (status != cudaSuccess) {                                         \
            printf("CUDA API failed at line %d with error: %s (%d)\n",       \
                   __LINE__, cudaGetErrorString(status), status);            \
            return EXIT_FAILURE;                                             \
        }                                                                    \
    }

__global__ void negate(float *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = -v[i];
}

int main(void)
{
    const int n = 1 << 16;
    const size_t bytes = n * sizeof(float);
    float *host = (float *)malloc(bytes);
    float *device = NULL;
    for (int i = 0; i < n; i++) host[i] = (float)i;

    CHECK_CUDA(cudaHostRegister(host, bytes, cudaHostRegisterPortable))
    CHECK_CUDA(cudaMalloc((void **)&device, bytes))
    CHECK_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, 0))
    negate<<<n / 256, 256>>>(device, n);
    CHECK_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, 0))
    CHECK_CUDA(cudaStreamSynchronize(0))
    printf("%f\n", host[10]);

    CHECK_CUDA(cudaFree(device))
    CHECK_CUDA(cudaFreeHost(host))  // expect: SS202
    return EXIT_SUCCESS;
}
