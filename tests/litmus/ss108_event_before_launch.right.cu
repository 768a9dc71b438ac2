// The event is recorded behind the launch.
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

__global__ void sum(const float *values, float *total, int n)
{
    float found = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) found += values[i];
    atomicAdd(total, found);
}

class Reduction {
public:
    Reduction(const float *values, int n)
    {
        CHECK(cudaStreamCreate(&stream_));
        CHECK(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
        CHECK(cudaMalloc(&total_, sizeof(float)));
        CHECK(cudaMallocHost(&result_, sizeof(float)));
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
        CHECK(cudaMemsetAsync(total_, 0, sizeof(float), stream_));
        sum<<<1, 256, 0, stream_>>>(values, total_, n);
        CHECK(cudaMemcpyAsync(result_, total_, sizeof(float), cudaMemcpyDeviceToHost, stream_));
        CHECK(cudaStreamEndCapture(stream_, &graph));
        CHECK(cudaGraphInstantiate(&exec_, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }
    ~Reduction()
    {
        cudaStreamSynchronize(stream_);
        cudaGraphExecDestroy(exec_);
        cudaFreeHost(result_);
        cudaFree(total_);
        cudaEventDestroy(done_);
        cudaStreamDestroy(stream_);
    }

    void start()
    {
        CHECK(cudaGraphLaunch(exec_, stream_));
        CHECK(cudaEventRecord(done_, stream_));
    }
    float result()
    {
        CHECK(cudaEventSynchronize(done_));
        return *result_;
    }

private:
    cudaStream_t stream_;
    cudaEvent_t done_;
    cudaGraphExec_t exec_;
    float *total_, *result_;
};

int main()
{
    const int n = 1 << 16;
    float *values;
    CHECK(cudaMalloc(&values, n * sizeof(float)));
    CHECK(cudaMemset(values, 0, n * sizeof(float)));
    {
        Reduction reduction(values, n);
        for (int round = 0; round < 3; ++round) {
            reduction.start();
            std::printf("%g\n", reduction.result());
        }
    }
    CHECK(cudaFree(values));
    return 0;
}
