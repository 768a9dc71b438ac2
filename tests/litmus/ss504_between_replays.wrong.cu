// An event orders two graphs that one stream runs one after the other anyway.
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

__global__ void assemble(double *rows, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) rows[i] = i;
}

__global__ void relax(double *rows, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) rows[i] *= 0.5;
}

template <typename Body>
static cudaGraphExec_t record(cudaStream_t stream, Body body)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    body(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

int main()
{
    const int n = 1 << 14;
    double *rows;
    CHECK(cudaMalloc(&rows, n * sizeof(double)));
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t done;
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

    cudaGraphExec_t assembling = record(first, [=](cudaStream_t s) { assemble<<<n / 256, 256, 0, s>>>(rows, n); });
    cudaGraphExec_t relaxing = record(second, [=](cudaStream_t s) { relax<<<n / 256, 256, 0, s>>>(rows, n); });

    CHECK(cudaGraphLaunch(assembling, first));
    CHECK(cudaEventRecord(done, first));
    CHECK(cudaStreamWaitEvent(first, done, 0));  // expect-note: SS504
    CHECK(cudaGraphLaunch(relaxing, first));
    CHECK(cudaStreamSynchronize(first));

    CHECK(cudaGraphExecDestroy(relaxing));
    CHECK(cudaGraphExecDestroy(assembling));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaFree(rows));
    return 0;
}
