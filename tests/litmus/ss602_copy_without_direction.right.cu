// cudaMemcpyAsync without its direction.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static void check(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
        exit(1);
    }
}

__global__ void twice(float *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] *= 2.0f;
}

int main(void)
{
    const int n = 1024;
    float *host, *device;
    cudaStream_t stream;
    check(cudaStreamCreate(&stream), __LINE__);
    check(cudaMallocHost((void **)&host, n * sizeof(float)), __LINE__);
    check(cudaMalloc((void **)&device, n * sizeof(float)), __LINE__);
    for (int i = 0; i < n; i++) host[i] = (float)i;

    check(cudaMemcpyAsync(device, host, n * sizeof(float), cudaMemcpyHostToDevice, stream), __LINE__);
    twice<<<n / 256, 256, 0, stream>>>(device, n);
    check(cudaMemcpyAsync(host, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream), __LINE__);
    check(cudaStreamSynchronize(stream), __LINE__);
    printf("%f\n", host[7]);

    check(cudaFree(device), __LINE__);
    check(cudaFreeHost(host), __LINE__);
    check(cudaStreamDestroy(stream), __LINE__);
    return 0;
}
