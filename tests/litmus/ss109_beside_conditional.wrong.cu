// The copy of the field does not wait for the conditional node whose body writes it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                               \
    do {                                                                                          \
        const cudaError_t status_ = (call);                                                       \
        if (status_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                              \
        }                                                                                         \
    } while (0)

__global__ void advance(float *field, int n, cudaGraphConditionalHandle again)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) field[i] += 1.0f;
    if (i == 0) cudaGraphSetConditional(again, 0);
}

struct Simulation {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float *field, *snapshot;
    int n;

    cudaGraphNode_t loop()
    {
        cudaGraphConditionalHandle again;
        CHECK(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
        cudaGraphNodeParams params = {cudaGraphNodeTypeConditional};
        params.conditional.handle = again;
        params.conditional.type = cudaGraphCondTypeWhile;
        params.conditional.size = 1;
        cudaGraphNode_t node;
        CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
        CHECK(cudaStreamBeginCaptureToGraph(stream, params.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                            cudaStreamCaptureModeGlobal));
        advance<<<(n + 255) / 256, 256, 0, stream>>>(field, n, again);
        CHECK(cudaStreamEndCapture(stream, nullptr));
        return node;
    }

    void save(const cudaGraphNode_t *after, size_t count)
    {
        cudaGraphNode_t node;
        CHECK(cudaGraphAddMemcpyNode1D(&node, graph, after, count, snapshot, field, n * sizeof(float),  // expect: SS109
                                       cudaMemcpyDeviceToDevice));
    }
};

int main()
{
    Simulation run = {};
    run.n = 1 << 14;
    CHECK(cudaStreamCreate(&run.stream));
    CHECK(cudaMalloc(&run.field, run.n * sizeof(float)));
    CHECK(cudaMalloc(&run.snapshot, run.n * sizeof(float)));
    CHECK(cudaMemset(run.field, 0, run.n * sizeof(float)));
    CHECK(cudaGraphCreate(&run.graph, 0));
    const cudaGraphNode_t loop = run.loop();
    (void)loop;
    run.save(nullptr, 0);
    CHECK(cudaGraphInstantiate(&run.exec, run.graph, 0));
    CHECK(cudaGraphLaunch(run.exec, run.stream));
    CHECK(cudaStreamSynchronize(run.stream));
    CHECK(cudaGraphExecDestroy(run.exec));
    CHECK(cudaGraphDestroy(run.graph));
    CHECK(cudaFree(run.snapshot));
    CHECK(cudaFree(run.field));
    CHECK(cudaStreamDestroy(run.stream));
    return 0;
}
