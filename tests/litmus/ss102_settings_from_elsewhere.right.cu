// A function declared elsewhere returns a reference to the settings. What it returns is read, and orders nothing.
#include <cuda_runtime.h>
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

struct Settings {
    int batch;
    float rate;
    int priority;
};
const Settings& settings();  // in settings.cpp

__global__ void descend(float* weights, const float* gradient, float rate, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) weights[i] -= rate * gradient[i];
}

int main()
{
    const int n = 1 << 16;
    float *weights, *gradient;
    cudaStream_t update, exchange;
    cudaEvent_t read;
    CHECK(cudaStreamCreateWithPriority(&update, cudaStreamNonBlocking, settings().priority));
    CHECK(cudaStreamCreateWithFlags(&exchange, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
    CHECK(cudaMalloc(&weights, n * sizeof(float)));
    CHECK(cudaMemsetAsync(weights, 0, n * sizeof(float), update));
    CHECK(cudaMallocAsync(&gradient, n * sizeof(float), exchange));
    CHECK(cudaMemsetAsync(gradient, settings().batch, n * sizeof(float), exchange));
    CHECK(cudaStreamSynchronize(exchange));
    const Settings& current = settings();
    descend<<<n / 256, 256, 0, update>>>(weights, gradient, current.rate, n);
    CHECK(cudaEventRecord(read, update));
    CHECK(cudaStreamWaitEvent(exchange, read, 0));
    CHECK(cudaFreeAsync(gradient, exchange));
    CHECK(cudaStreamSynchronize(exchange));
    CHECK(cudaStreamSynchronize(update));
    CHECK(cudaFree(weights));
    CHECK(cudaEventDestroy(read));
    CHECK(cudaStreamDestroy(exchange));
    CHECK(cudaStreamDestroy(update));
    return 0;
}
