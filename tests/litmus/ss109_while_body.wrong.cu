// A WHILE node whose condition is 1 from the start: its body runs, and the next stage on another stream does not wait for it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void halve(float* x, int n, float limit, cudaGraphConditionalHandle again)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f;
    if (i == 0) cudaGraphSetConditional(again, x[0] > limit);
}

__global__ void scale(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 10.0f * x[i];
}

static cudaGraphExec_t solver(float* x, int n)
{
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle again;
    CHECK(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams loop = {};
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = again;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop));

    cudaGraph_t body = loop.conditional.phGraph_out[0];
    cudaStream_t capture;
    CHECK(cudaStreamCreate(&capture));
    CHECK(cudaStreamBeginCaptureToGraph(capture, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
    halve<<<n / 256, 256, 0, capture>>>(x, n, 0.01f, again);
    CHECK(cudaStreamEndCapture(capture, nullptr));
    CHECK(cudaStreamDestroy(capture));

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

int main()
{
    const int n = 1 << 14;
    float *x, *y;
    cudaStream_t main_stream, side;
    cudaEvent_t solved;
    CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&solved, cudaEventDisableTiming));
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&y, n * sizeof(float)));
    CHECK(cudaMemset(x, 63, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    cudaGraphExec_t solve = solver(x, n);
    CHECK(cudaEventRecord(solved, main_stream));
    CHECK(cudaGraphLaunch(solve, main_stream));
    CHECK(cudaStreamWaitEvent(side, solved, 0));
    scale<<<n / 256, 256, 0, side>>>(x, y, n);  // expect: SS109
    CHECK(cudaStreamSynchronize(main_stream));
    CHECK(cudaStreamSynchronize(side));
    CHECK(cudaGraphExecDestroy(solve));
    CHECK(cudaFree(y));
    CHECK(cudaFree(x));
    CHECK(cudaEventDestroy(solved));
    CHECK(cudaStreamDestroy(side));
    CHECK(cudaStreamDestroy(main_stream));
    return 0;
}
