// Tags choose the overload: the one for a device tag takes the stream that it is given, the one for a host tag the default one.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

struct on_stream_tag {};
struct ordered_tag : on_stream_tag {};

struct Context {
    cudaStream_t main, side;
    cudaEvent_t event;
};

__global__ void seed(unsigned* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 2654435761u * i;
}

__global__ void scramble(unsigned* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] ^= p[i] << 13;
}

inline void mix(unsigned* p, int n, const Context& context, on_stream_tag)
{
    scramble<<<n / 256, 256, 0, context.side>>>(p, n);  // expect: SS109
}

inline void mix(unsigned* p, int n, const Context& context, ordered_tag)
{
    CHECK(cudaEventRecord(context.event, context.main));
    CHECK(cudaStreamWaitEvent(context.side, context.event, 0));
    mix(p, n, context, on_stream_tag{});
}

int main()
{
    const int n = 1 << 16;
    unsigned* p;
    Context context;
    CHECK(cudaStreamCreateWithFlags(&context.main, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&context.side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&context.event, cudaEventDisableTiming));
    CHECK(cudaMalloc(&p, n * sizeof(unsigned)));
    seed<<<n / 256, 256, 0, context.main>>>(p, n);
    mix(p, n, context, on_stream_tag{});
    CHECK(cudaStreamSynchronize(context.side));
    CHECK(cudaStreamSynchronize(context.main));
    CHECK(cudaFree(p));
    CHECK(cudaEventDestroy(context.event));
    CHECK(cudaStreamDestroy(context.side));
    CHECK(cudaStreamDestroy(context.main));
    return 0;
}
