// Each stream gets a graph of its own, captured again.
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

__global__ void work(float *scratch, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        scratch[i] = i;
        out[i] = scratch[i] * 2.0f;
    }
}

static cudaGraph_t record(float *out, int n, cudaStream_t stream)
{
    cudaGraph_t graph;
    float *scratch;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync(&scratch, n * sizeof(float), stream));
    work<<<n / 256, 256, 0, stream>>>(scratch, out, n);
    CHECK(cudaFreeAsync(scratch, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

int main()
{
    const int n = 1 << 16, workers = 2;
    std::vector<cudaStream_t> streams(workers);
    std::vector<cudaGraphExec_t> execs(workers);
    std::vector<float *> outputs(workers);
    for (int w = 0; w < workers; ++w) {
        CHECK(cudaStreamCreateWithFlags(&streams[w], cudaStreamNonBlocking));
        CHECK(cudaMalloc(&outputs[w], n * sizeof(float)));
    }

    for (int w = 0; w < workers; ++w) {
        cudaGraph_t graph = record(outputs[w], n, streams[w]);
        CHECK(cudaGraphInstantiate(&execs[w], graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }

    for (int w = 0; w < workers; ++w) CHECK(cudaGraphLaunch(execs[w], streams[w]));
    CHECK(cudaDeviceSynchronize());
    for (int w = 0; w < workers; ++w) {
        CHECK(cudaGraphExecDestroy(execs[w]));
        CHECK(cudaFree(outputs[w]));
        CHECK(cudaStreamDestroy(streams[w]));
    }
    return 0;
}
