// The event that hands the workspace over is recorded before the workspace is allocated, and before the delayed step.
// On hardware the workspace is the block of the step's input: clearing it in the other stream clears that input.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                    \
    do {                                                                             \
        cudaError_t e = (call);                                                      \
        if (e != cudaSuccess) {                                                      \
            printf("error: %s: %s\n", #call, cudaGetErrorString(e));                 \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

enum { COUNT = 1 << 20, BLOCK = 256 };

__global__ void slow_step(long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
}

__global__ void load(double* input)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) input[i] = i + 0.5;
}

__global__ void solve(const double* input, double* output)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) output[i] = 2.0 * input[i];
}

int main(void)
{
    size_t bytes = COUNT * sizeof(double);
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); /* loading a kernel later may wait for the device */
    double* host = (double*)malloc(bytes);
    cudaStream_t solver, helper;
    TRY(cudaStreamCreateWithFlags(&solver, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&helper, cudaStreamNonBlocking));
    cudaEvent_t handed_over;
    TRY(cudaEventCreateWithFlags(&handed_over, cudaEventDisableTiming));
    double *input, *output, *workspace;
    TRY(cudaMalloc((void**)&output, bytes));

    TRY(cudaMallocAsync((void**)&input, bytes, solver));
    load<<<COUNT / BLOCK, BLOCK, 0, solver>>>(input);
    TRY(cudaEventRecord(handed_over, solver));
    slow_step<<<1, 1, 0, solver>>>(100000000LL);
    solve<<<COUNT / BLOCK, BLOCK, 0, solver>>>(input, output);
    TRY(cudaFreeAsync(input, solver));
    TRY(cudaMallocAsync((void**)&workspace, bytes, solver));

    TRY(cudaStreamWaitEvent(helper, handed_over, 0));
    TRY(cudaMemsetAsync(workspace, 0, bytes, helper)); // expect: SS103
    TRY(cudaFreeAsync(workspace, helper));

    TRY(cudaMemcpyAsync(host, output, bytes, cudaMemcpyDeviceToHost, solver));
    TRY(cudaStreamSynchronize(solver));
    TRY(cudaStreamSynchronize(helper));
    int wrong = 0;
    for (int i = 0; i < COUNT; ++i) wrong += host[i] != 2.0 * i + 1.0;
    printf("wrong words: %d\n", wrong);
    TRY(cudaFree(output));
    TRY(cudaEventDestroy(handed_over));
    TRY(cudaStreamDestroy(helper));
    TRY(cudaStreamDestroy(solver));
    free(host);
    return wrong ? 1 : 0;
}
