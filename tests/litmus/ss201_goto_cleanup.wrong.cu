/* The common cleanup label frees what the normal path already freed. */
#include <cuda_runtime.h>
#include <stdio.h>

#define GO(call)                                                             \
    do {                                                                     \
        status = (call);                                                     \
        if (status != cudaSuccess) {                                         \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));  \
            goto cleanup;                                                    \
        }                                                                    \
    } while (0)

__global__ void mark(int* flags, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) flags[i] = 1;
}

static int process(int n)
{
    cudaError_t status = cudaSuccess;
    int* flags = NULL;
    int* spare = NULL;

    GO(cudaMalloc((void**)&flags, n * sizeof(int)));
    GO(cudaMalloc((void**)&spare, n * sizeof(int)));
    mark<<<(n + 255) / 256, 256>>>(flags, n);
    GO(cudaGetLastError());
    GO(cudaMemcpy(spare, flags, n * sizeof(int), cudaMemcpyDeviceToDevice));
    GO(cudaDeviceSynchronize());
    GO(cudaFree(flags));

cleanup:
    if (flags) cudaFree(flags);  // expect: SS201
    if (spare) cudaFree(spare);
    return status == cudaSuccess ? 0 : 1;
}

int main(void)
{
    return process(10000);
}
