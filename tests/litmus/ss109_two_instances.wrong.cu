// Two lanes launch two executable graphs that were made of one graph: both write its scratch.
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

__global__ void transform(float *scratch, int n, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) scratch[i] = factor * i;
}

class Lane {
public:
    Lane() { CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Lane()
    {
        cudaGraphExecDestroy(exec_);
        cudaStreamDestroy(stream_);
    }
    Lane(const Lane &) = delete;
    Lane &operator=(const Lane &) = delete;

    cudaGraph_t capture(float *scratch, int n)
    {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
        transform<<<(n + 255) / 256, 256, 0, stream_>>>(scratch, n, 2.0f);
        CHECK(cudaStreamEndCapture(stream_, &graph));
        return graph;
    }
    void instantiate(cudaGraph_t graph) { CHECK(cudaGraphInstantiate(&exec_, graph, 0)); }
    void run() { CHECK(cudaGraphLaunch(exec_, stream_)); }  // expect: SS109
    void wait() { CHECK(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_;
    cudaGraphExec_t exec_ = nullptr;
};

int main()
{
    const int n = 1 << 16;
    float *scratch[2];
    for (float *&each : scratch) CHECK(cudaMalloc(&each, n * sizeof(float)));
    {
        Lane first, second;
        cudaGraph_t graph = first.capture(scratch[0], n);
        first.instantiate(graph);
        second.instantiate(graph);
        CHECK(cudaGraphDestroy(graph));
        first.run();
        second.run();
        first.wait();
        second.wait();
    }
    for (float *each : scratch) CHECK(cudaFree(each));
    return 0;
}
