// The download runs on the copy stream, and the loop that waits asks the compute stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int count = 1 << 16;

__global__ void fill(int* x, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

struct Streams {
    cudaStream_t compute = nullptr, copy = nullptr;
    cudaEvent_t computed = nullptr;
    Streams()
    {
        CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));
    }
    ~Streams()
    {
        cudaEventDestroy(computed);
        cudaStreamDestroy(copy);
        cudaStreamDestroy(compute);
    }
};

static void await(cudaStream_t stream)
{
    while (cudaStreamQuery(stream) == cudaErrorNotReady) std::this_thread::yield();
}

int main()
{
    Streams streams;
    int *device, *host;
    CHECK(cudaMalloc(&device, count * sizeof(int)));
    CHECK(cudaMallocHost(&host, count * sizeof(int)));
    fill<<<count / 256, 256, 0, streams.compute>>>(device, 7, count);
    CHECK(cudaEventRecord(streams.computed, streams.compute));
    CHECK(cudaStreamWaitEvent(streams.copy, streams.computed, 0));
    CHECK(cudaMemcpyAsync(host, device, count * sizeof(int), cudaMemcpyDeviceToHost, streams.copy));
    await(streams.compute);
    std::printf("%d\n", host[0]);  // expect: SS108
    CHECK(cudaStreamSynchronize(streams.copy));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    return 0;
}
