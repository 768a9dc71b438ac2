// Two branches of a graph write the same buffer; nothing orders them.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

__global__ void clear(float *grid, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) grid[i] = 0.0f;
}

__global__ void deposit(float *grid, const float *charge, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) grid[i] += charge[i];
}

int main()
{
    int n = 1 << 12;
    float *grid, *charge;
    CHECK(cudaMalloc(&grid, n * sizeof(float)));
    CHECK(cudaMalloc(&charge, n * sizeof(float)));
    CHECK(cudaMemset(charge, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());

    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    std::vector<cudaGraphNode_t> before;

    void *clearArguments[] = {&grid, &n};
    cudaKernelNodeParams clearing = {};
    clearing.func = (void *)clear;
    clearing.gridDim = dim3(n / 256);
    clearing.blockDim = dim3(256);
    clearing.kernelParams = clearArguments;
    cudaGraphNode_t cleared;
    CHECK(cudaGraphAddKernelNode(&cleared, graph, before.data(), before.size(), &clearing));

    void *depositArguments[] = {&grid, &charge, &n};
    cudaKernelNodeParams depositing = clearing;
    depositing.func = (void *)deposit;
    depositing.kernelParams = depositArguments;
    cudaGraphNode_t deposited;
    CHECK(cudaGraphAddKernelNode(&deposited, graph, before.data(), before.size(), &depositing));  // expect: SS109

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (int step = 0; step < 100; ++step) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(grid));
    CHECK(cudaFree(charge));
    return 0;
}
