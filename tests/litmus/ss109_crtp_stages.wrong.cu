// Stages by CRTP: the base runs the derived class's launch. A derived class hides the base's way to wait for its input.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

__global__ void make(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 5 * i;
}

__global__ void invert(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = ~p[i];
}

template <typename Derived>
class Stage {
public:
    Stage()
    {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
    }
    Stage(const Stage&) = delete;
    ~Stage()
    {
        cudaStreamSynchronize(stream_);
        cudaEventDestroy(done_);
        cudaStreamDestroy(stream_);
    }
    cudaEvent_t run(cudaEvent_t input, int* p, int n)
    {
        self().await(input);
        self().launch(p, n);
        CHECK(cudaEventRecord(done_, stream_));
        return done_;
    }
    void await(cudaEvent_t input)
    {
        if (input) CHECK(cudaStreamWaitEvent(stream_, input, 0));
    }

protected:
    cudaStream_t stream_;
    cudaEvent_t done_;

private:
    Derived& self() { return static_cast<Derived&>(*this); }
};

struct Source : Stage<Source> {
    void launch(int* p, int n) { make<<<n / 128, 128, 0, stream_>>>(p, n); }
    void await(cudaEvent_t) {}
};

struct Inverter : Stage<Inverter> {
    void launch(int* p, int n) { invert<<<n / 128, 128, 0, stream_>>>(p, n); }  // expect: SS109
    void await(cudaEvent_t) {}
};

int main()
{
    const int n = 1 << 15;
    int* p;
    CHECK(cudaMalloc(&p, n * sizeof(int)));
    {
        Source source;
        Inverter inverter;
        cudaEvent_t made = source.run(nullptr, p, n);
        inverter.run(made, p, n);
    }
    CHECK(cudaFree(p));
    return 0;
}
