// Two host functions, each with a part of one array that is its own, and both are given the first.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

struct Half {
    const float *values;
    int count;
    double sum;
};

__global__ void ramp(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = i;
}

static void CUDART_CB add_up(void *given)
{
    Half *half = static_cast<Half *>(given);
    for (int i = 0; i < half->count; ++i) half->sum += half->values[i];  // expect: SS108
}

int main()
{
    const int n = 1 << 12;
    float *device, *host;
    cudaStream_t streams[2];
    for (auto &stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, 2 * n * sizeof(float)));
    CHECK(cudaMallocHost(&host, 2 * n * sizeof(float)));
    Half halves[2] = {{host, n, 0}, {host + n, n, 0}};
    for (int i = 0; i < 2; ++i) {
        ramp<<<n / 256, 256, 0, streams[i]>>>(device + i * n, n);
        CHECK(cudaMemcpyAsync(host + i * n, device + i * n, n * sizeof(float), cudaMemcpyDeviceToHost, streams[i]));
        CHECK(cudaLaunchHostFunc(streams[i], add_up, &halves[0]));
    }
    CHECK(cudaDeviceSynchronize());
    std::printf("%f %f\n", halves[0].sum, halves[1].sum);
    for (auto &stream : streams) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    return 0;
}
