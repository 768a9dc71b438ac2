// A factory returns a pair of buffers that structured bindings take; the second one is freed in the first one's order.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void divide(const float* in, float* quotient, float* rest, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    quotient[i] = floorf(in[i] / 3.0f);
    rest[i] = in[i] - 3.0f * quotient[i];
}

static std::pair<float*, float*> outputs(int n, cudaStream_t stream)
{
    float *quotient, *rest;
    CHECK(cudaMallocAsync(&quotient, n * sizeof(float), stream));
    CHECK(cudaMallocAsync(&rest, n * sizeof(float), stream));
    return {quotient, rest};
}

static std::tuple<cudaStream_t, cudaStream_t, cudaEvent_t> lanes()
{
    cudaStream_t a, b;
    cudaEvent_t event;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return std::make_tuple(a, b, event);
}

int main()
{
    const int n = 1 << 16;
    auto [memory, compute, event] = lanes();
    float* in;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMemset(in, 65, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    auto [quotient, rest] = outputs(n, memory);
    CHECK(cudaEventRecord(event, memory));
    CHECK(cudaStreamWaitEvent(compute, event, 0));
    divide<<<n / 256, 256, 0, compute>>>(in, quotient, rest, n);
    CHECK(cudaFreeAsync(quotient, compute));
    CHECK(cudaFreeAsync(rest, compute));
    CHECK(cudaStreamSynchronize(compute));
    CHECK(cudaStreamSynchronize(memory));
    CHECK(cudaFree(in));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(memory));
    return 0;
}
