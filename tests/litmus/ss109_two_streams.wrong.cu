// A buffer is filled on one stream and scaled on another: nothing orders the two.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

__global__ void scale(float *data, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor;
}

int main()
{
    const int n = 1 << 20;
    float *data;
    CHECK(cudaMalloc(&data, n * sizeof(float)));
    cudaStream_t streams[2];
    for (cudaStream_t &stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaEvent_t filled;
    CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));

    CHECK(cudaMemsetAsync(data, 0, n * sizeof(float), streams[0]));
    CHECK(cudaEventRecord(filled, streams[0]));
    scale<<<n / 256, 256, 0, streams[1]>>>(data, 0.5f, n);  // expect: SS109

    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(filled));
    for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    return 0;
}
