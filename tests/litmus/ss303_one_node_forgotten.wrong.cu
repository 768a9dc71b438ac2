// The buffers are swapped for new ones, but only one of the two nodes that use the old input is told.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

__global__ void square(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * in[i];
}

static cudaKernelNodeParams describe(void **arguments, int n)
{
    cudaKernelNodeParams params = {0};
    params.func = (void *)square;
    params.gridDim = dim3((n + 255) / 256, 1, 1);
    params.blockDim = dim3(256, 1, 1);
    params.sharedMemBytes = 0;
    params.kernelParams = arguments;
    params.extra = NULL;
    return params;
}

int main()
{
    int n = 1 << 16;
    const size_t bytes = n * sizeof(float);
    float *host = (float *)calloc(n, sizeof(float));
    float *in, *out, *bigger;
    CHECK(cudaMalloc(&in, bytes));
    CHECK(cudaMalloc(&out, bytes));

    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t upload, compute;
    CHECK(cudaGraphAddMemcpyNode1D(&upload, graph, NULL, 0, in, host, bytes, cudaMemcpyHostToDevice));
    void *arguments[] = {&in, &out, &n};
    cudaKernelNodeParams params = describe(arguments, n);
    CHECK(cudaGraphAddKernelNode(&compute, graph, &upload, 1, &params));

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaMalloc(&bigger, 2 * bytes));
    void *changed[] = {&bigger, &out, &n};
    cudaKernelNodeParams update = describe(changed, n);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, compute, &update));
    CHECK(cudaFree(in));
    CHECK(cudaGraphLaunch(exec, stream));  // expect: SS303
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(bigger));
    CHECK(cudaFree(out));
    free(host);
    return 0;
}
