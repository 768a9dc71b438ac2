// The input buffer grows between two replays, and the graph is captured again.
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

__global__ void normalize(float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] /= 255.0f;
}

class Buffer {
public:
    ~Buffer() { cudaFree(data_); }
    bool resize(int count)
    {
        if (count <= capacity_) return false;
        if (data_ != nullptr) CHECK(cudaFree(data_));
        CHECK(cudaMalloc(&data_, count * sizeof(float)));
        capacity_ = count;
        return true;
    }
    float *data() const { return data_; }

private:
    float *data_ = nullptr;
    int capacity_ = 0;
};

class Pipeline {
public:
    Pipeline() { CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Pipeline()
    {
        if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
        cudaStreamDestroy(stream_);
    }
    void process(int count)
    {
        if (input_.resize(count)) capture(count);
        CHECK(cudaGraphLaunch(exec_, stream_));
        CHECK(cudaStreamSynchronize(stream_));
    }

private:
    void capture(int count)
    {
        if (exec_ != nullptr) CHECK(cudaGraphExecDestroy(exec_));
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
        CHECK(cudaMemsetAsync(input_.data(), 0, count * sizeof(float), stream_));
        normalize<<<(count + 255) / 256, 256, 0, stream_>>>(input_.data(), count);
        CHECK(cudaStreamEndCapture(stream_, &graph));
        CHECK(cudaGraphInstantiate(&exec_, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }

    Buffer input_;
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
};

int main()
{
    Pipeline pipeline;
    pipeline.process(1024);
    pipeline.process(1024);
    pipeline.process(4096);
    return 0;
}
