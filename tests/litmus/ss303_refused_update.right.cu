// Where the update is refused, the executable graph is made anew.
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

__global__ void smooth(float *samples, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) samples[i] = 0.5f * samples[i] + 0.25f;
}

class Step {
public:
    explicit Step(cudaStream_t stream) : stream_(stream) {}
    ~Step()
    {
        if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
    }

    void capture(float *samples, int n, bool clear)
    {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
        if (clear) CHECK(cudaMemsetAsync(samples, 0, n * sizeof(float), stream_));
        smooth<<<(n + 255) / 256, 256, 0, stream_>>>(samples, n);
        CHECK(cudaStreamEndCapture(stream_, &graph));
        if (exec_ == nullptr) {
            CHECK(cudaGraphInstantiate(&exec_, graph, 0));
        } else {
            cudaGraphExecUpdateResultInfo info;
            if (cudaGraphExecUpdate(exec_, graph, &info) != cudaSuccess) {
                cudaGetLastError();
                CHECK(cudaGraphExecDestroy(exec_));
                CHECK(cudaGraphInstantiate(&exec_, graph, 0));
            }
        }
        CHECK(cudaGraphDestroy(graph));
    }

    void run() { CHECK(cudaGraphLaunch(exec_, stream_)); }

private:
    cudaStream_t stream_;
    cudaGraphExec_t exec_ = nullptr;
};

int main()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    const int n = 1 << 14;
    float *samples, *larger;
    CHECK(cudaMalloc(&samples, n * sizeof(float)));
    {
        Step step(stream);
        step.capture(samples, n, false);
        step.run();
        CHECK(cudaStreamSynchronize(stream));

        CHECK(cudaMalloc(&larger, 2 * n * sizeof(float)));
        step.capture(larger, 2 * n, true);
        CHECK(cudaFree(samples));
        step.run();
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaFree(larger));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
