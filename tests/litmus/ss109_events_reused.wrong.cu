// A pool hands events out in turn. It is too small: an event is recorded again before its first record was waited for.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

template <std::size_t Size>
class EventPool {
public:
    EventPool()
    {
        for (cudaEvent_t& event : events_) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    ~EventPool()
    {
        for (cudaEvent_t event : events_) cudaEventDestroy(event);
    }
    cudaEvent_t record(cudaStream_t stream)
    {
        cudaEvent_t event = events_[next_++ % Size];
        CHECK(cudaEventRecord(event, stream));
        return event;
    }

private:
    std::array<cudaEvent_t, Size> events_;
    std::size_t next_ = 0;
};

__global__ void left_half(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 1.0f;
}

__global__ void right_half(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 2.0f;
}

__global__ void whole(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] *= 0.5f;
}

int main()
{
    const int n = 1 << 14;
    float* p;
    cudaStream_t a, b, c;
    for (cudaStream_t* stream : {&a, &b, &c}) CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&p, n * sizeof(float)));
    {
        EventPool<1> events;
        left_half<<<n / 512, 256, 0, a>>>(p, n / 2);
        cudaEvent_t first = events.record(a);
        right_half<<<n / 512, 256, 0, b>>>(p + n / 2, n / 2);
        cudaEvent_t second = events.record(b);
        CHECK(cudaStreamWaitEvent(c, first, 0));
        CHECK(cudaStreamWaitEvent(c, second, 0));
        whole<<<n / 256, 256, 0, c>>>(p, n);  // expect: SS109
    }
    for (cudaStream_t stream : {a, b, c}) CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(p));
    for (cudaStream_t stream : {a, b, c}) CHECK(cudaStreamDestroy(stream));
    return 0;
}
