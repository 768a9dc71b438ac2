// A side stream is forked into the capture and never joined back.
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

__global__ void forward(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

struct Streams {
    cudaStream_t main, side;
    cudaEvent_t fork, join;
    Streams()
    {
        CHECK(cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    }
    ~Streams()
    {
        cudaEventDestroy(join);
        cudaEventDestroy(fork);
        cudaStreamDestroy(side);
        cudaStreamDestroy(main);
    }
};

static cudaGraph_t capture(const Streams &s, const float *x, float *left, float *right, int n)
{
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(s.main, cudaStreamCaptureModeRelaxed));
    CHECK(cudaEventRecord(s.fork, s.main));
    CHECK(cudaStreamWaitEvent(s.side, s.fork, 0));
    forward<<<n / 256, 256, 0, s.main>>>(x, left, n);
    forward<<<n / 256, 256, 0, s.side>>>(x, right, n);
    CHECK(cudaStreamEndCapture(s.main, &graph));  // expect: SS302
    return graph;
}

int main()
{
    const int n = 1 << 16;
    float *x, *left, *right;
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&left, n * sizeof(float)));
    CHECK(cudaMalloc(&right, n * sizeof(float)));
    CHECK(cudaMemset(x, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    {
        Streams streams;
        cudaGraph_t graph = capture(streams, x, left, right, n);
        cudaGraphExec_t exec;
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaGraphLaunch(exec, streams.main));
        CHECK(cudaStreamSynchronize(streams.main));
        CHECK(cudaGraphExecDestroy(exec));
    }
    CHECK(cudaFree(right));
    CHECK(cudaFree(left));
    CHECK(cudaFree(x));
    return 0;
}
