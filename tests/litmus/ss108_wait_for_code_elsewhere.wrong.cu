// What is called between the copy and the reader is in another file, and may read the buffer; the wait before it is needed.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

void publish(const float* values, int n);  // in publish.cpp

__global__ void evaluate(float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 1.0f / (i + 1);
}

int main()
{
    const int n = 1 << 14;
    float *device, *host;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, n * sizeof(float)));
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    evaluate<<<n / 256, 256, 0, stream>>>(device, n);
    CHECK(cudaMemcpyAsync(host, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    std::printf("%f\n", host[0]);  // expect: SS108
    CHECK(cudaStreamSynchronize(stream));
    publish(host, n);
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
