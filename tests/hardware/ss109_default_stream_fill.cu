/* The grid is initialised in the default stream and relaxed in a non-blocking one, which does not wait for it.
 * On hardware the initialisation comes behind a slow kernel of the default stream, and undoes the relaxation. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define N (1 << 20)

static void ck(cudaError_t status, const char* call)
{
    if (status != cudaSuccess) {
        printf("error: %s: %s\n", call, cudaGetErrorName(status));
        exit(1);
    }
}
#define CK(call) ck((call), #call)

__global__ void read_sensor(long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
}

__global__ void relax(char* grid)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) grid[i] = (char)(grid[i] + 5);
}

int main(void)
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); /* loading a kernel later may wait for the device */
    char* host = (char*)malloc(N);
    char* grid;
    cudaStream_t solver;
    CK(cudaStreamCreateWithFlags(&solver, cudaStreamNonBlocking));
    CK(cudaMalloc((void**)&grid, N));

    read_sensor<<<1, 1>>>(100000000LL);
    CK(cudaMemset(grid, 1, N));
    relax<<<N / 256, 256, 0, solver>>>(grid); // expect: SS109

    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(host, grid, N, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < N; ++i) wrong += host[i] != 6;
    printf("wrong words: %d\n", wrong);
    CK(cudaFree(grid));
    CK(cudaStreamDestroy(solver));
    free(host);
    return wrong ? 1 : 0;
}
