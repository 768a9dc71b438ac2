// A stage is switched on again with a scratch of its own.
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

__global__ void denoise(float *frame, float *scratch, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        scratch[i] = frame[i];
        frame[i] = 0.5f * scratch[i];
    }
}

class Filter {
public:
    Filter(float *frame, int n) : frame_(frame), n_(n)
    {
        CHECK(cudaStreamCreate(&stream_));
        CHECK(cudaMalloc(&scratch_, n * sizeof(float)));
        CHECK(cudaGraphCreate(&graph_, 0));
        const cudaKernelNodeParams stage = parameters();
        CHECK(cudaGraphAddKernelNode(&stage_, graph_, nullptr, 0, &stage));
        CHECK(cudaGraphInstantiate(&exec_, graph_, 0));
    }
    ~Filter()
    {
        cudaGraphExecDestroy(exec_);
        cudaGraphDestroy(graph_);
        if (scratch_ != nullptr) cudaFree(scratch_);
        cudaStreamDestroy(stream_);
    }

    void process()
    {
        CHECK(cudaGraphLaunch(exec_, stream_));
        CHECK(cudaStreamSynchronize(stream_));
    }
    void disable()
    {
        CHECK(cudaGraphNodeSetEnabled(exec_, stage_, 0));
        CHECK(cudaFree(scratch_));
        scratch_ = nullptr;
    }
    void enable()
    {
        CHECK(cudaMalloc(&scratch_, n_ * sizeof(float)));
        const cudaKernelNodeParams stage = parameters();
        CHECK(cudaGraphExecKernelNodeSetParams(exec_, stage_, &stage));
        CHECK(cudaGraphNodeSetEnabled(exec_, stage_, 1));
    }

private:
    cudaKernelNodeParams parameters()
    {
        arguments_[0] = &frame_;
        arguments_[1] = &scratch_;
        arguments_[2] = &n_;
        cudaKernelNodeParams found = {};
        found.func = reinterpret_cast<void *>(denoise);
        found.gridDim = dim3((n_ + 255) / 256);
        found.blockDim = dim3(256);
        found.kernelParams = arguments_;
        return found;
    }

    float *frame_, *scratch_;
    int n_;
    void *arguments_[3];
    cudaStream_t stream_;
    cudaGraph_t graph_;
    cudaGraphNode_t stage_;
    cudaGraphExec_t exec_;
};

int main()
{
    const int n = 1 << 12;
    float *frame;
    CHECK(cudaMalloc(&frame, n * sizeof(float)));
    {
        Filter filter(frame, n);
        filter.process();
        filter.disable();
        filter.process();
        filter.enable();
        filter.process();
    }
    CHECK(cudaFree(frame));
    return 0;
}
