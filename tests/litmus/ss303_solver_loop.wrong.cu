// The state is allocated anew, and the body of the WHILE node, which runs at least once, keeps the old one.
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

__global__ void relax(float *state, int n, int *left, cudaGraphConditionalHandle again)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) state[i] *= 0.5f;
    if (i == 0) cudaGraphSetConditional(again, --*left > 0);
}

__global__ void begin(int *left, int rounds) { *left = rounds; }

class Solver {
public:
    Solver()
    {
        CHECK(cudaStreamCreate(&stream_));
        CHECK(cudaMalloc(&left_, sizeof(int)));
    }
    ~Solver()
    {
        release();
        cudaFree(left_);
        cudaStreamDestroy(stream_);
    }

    void build(float *state, int n)
    {
        release();
        CHECK(cudaGraphCreate(&graph_, 0));
        cudaGraphConditionalHandle again;
        CHECK(cudaGraphConditionalHandleCreate(&again, graph_, 1, cudaGraphCondAssignDefault));
        int rounds = 8;
        void *arguments[] = {&left_, &rounds};
        cudaKernelNodeParams first = {};
        first.func = reinterpret_cast<void *>(begin);
        first.gridDim = dim3(1);
        first.blockDim = dim3(1);
        first.kernelParams = arguments;
        cudaGraphNode_t begins, loops;
        CHECK(cudaGraphAddKernelNode(&begins, graph_, nullptr, 0, &first));
        cudaGraphNodeParams loop = {cudaGraphNodeTypeConditional};
        loop.conditional.handle = again;
        loop.conditional.type = cudaGraphCondTypeWhile;
        loop.conditional.size = 1;
        CHECK(cudaGraphAddNode(&loops, graph_, &begins, nullptr, 1, &loop));
        cudaGraph_t body = loop.conditional.phGraph_out[0];
        CHECK(cudaStreamBeginCaptureToGraph(stream_, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
        relax<<<(n + 255) / 256, 256, 0, stream_>>>(state, n, left_, again);
        CHECK(cudaStreamEndCapture(stream_, nullptr));
        CHECK(cudaGraphInstantiate(&exec_, graph_, 0));
    }

    void solve()
    {
        CHECK(cudaGraphLaunch(exec_, stream_));  // expect: SS303
        CHECK(cudaStreamSynchronize(stream_));
    }

private:
    void release()
    {
        if (exec_ == nullptr) return;
        CHECK(cudaGraphExecDestroy(exec_));
        CHECK(cudaGraphDestroy(graph_));
        exec_ = nullptr;
    }

    cudaStream_t stream_;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    int *left_;
};

int main()
{
    const int n = 1 << 12;
    float *state;
    CHECK(cudaMalloc(&state, n * sizeof(float)));
    Solver solver;
    solver.build(state, n);
    solver.solve();

    CHECK(cudaFree(state));
    CHECK(cudaMalloc(&state, 4 * n * sizeof(float)));
    solver.solve();
    CHECK(cudaFree(state));
    return 0;
}
