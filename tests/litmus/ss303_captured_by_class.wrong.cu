// A class captures its step in a scope object; grow() replaces the buffer and keeps the graph that was made for the old one.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

__global__ void touch(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += 1.0f;
}

class Capture {
public:
    Capture(cudaStream_t stream, cudaGraphExec_t* target) : stream_(stream), target_(target)
    {
        CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    }
    ~Capture()
    {
        cudaGraph_t graph;
        CHECK(cudaStreamEndCapture(stream_, &graph));
        CHECK(cudaGraphInstantiate(target_, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }
    Capture(const Capture&) = delete;

private:
    cudaStream_t stream_;
    cudaGraphExec_t* target_;
};

class Stepper {
public:
    explicit Stepper(int n)
    {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        resize(n);
        record();
    }
    ~Stepper()
    {
        cudaStreamSynchronize(stream_);
        cudaGraphExecDestroy(step_);
        cudaFree(data_);
        cudaStreamDestroy(stream_);
    }
    void grow(int n)
    {
        CHECK(cudaStreamSynchronize(stream_));
        CHECK(cudaFree(data_));
        resize(n);
    }
    void step() { CHECK(cudaGraphLaunch(step_, stream_)); }  // expect: SS303

private:
    void resize(int n)
    {
        n_ = n;
        CHECK(cudaMalloc((void**)&data_, n_ * sizeof(float)));
        CHECK(cudaMemsetAsync(data_, 0, n_ * sizeof(float), stream_));
    }
    void record()
    {
        Capture capture(stream_, &step_);
        touch<<<n_ / 256, 256, 0, stream_>>>(data_, n_);
    }
    cudaStream_t stream_;
    cudaGraphExec_t step_ = nullptr;
    float* data_ = nullptr;
    int n_ = 0;
};

int main()
{
    Stepper stepper(1 << 12);
    stepper.step();
    stepper.grow(1 << 13);
    stepper.step();
    return 0;
}
