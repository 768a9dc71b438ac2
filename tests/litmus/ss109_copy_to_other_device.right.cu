// A copy that names no stream is in order with all work of both devices, and so it needs no event.
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

constexpr int first = 0, second = 1, cells = 1 << 16;

__global__ void produce(float* field, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) field[i] = 1.0f + i;
}

__global__ void consume(const float* field, float* sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, field[i]);
}

int main()
{
    float *made, *received, *sum, result = 0;
    cudaStream_t stream;
    CHECK(cudaSetDevice(first));
    CHECK(cudaMalloc(&made, cells * sizeof(float)));
    CHECK(cudaSetDevice(second));
    CHECK(cudaMalloc(&received, cells * sizeof(float)));
    CHECK(cudaMalloc(&sum, sizeof(float)));
    CHECK(cudaMemset(sum, 0, sizeof(float)));
    CHECK(cudaStreamCreate(&stream));
    for (int round = 0; round < 3; ++round) {
        CHECK(cudaSetDevice(first));
        produce<<<cells / 256, 256>>>(made, cells);
        CHECK(cudaMemcpyPeer(received, second, made, first, cells * sizeof(float)));
        CHECK(cudaSetDevice(second));
        consume<<<cells / 256, 256, 0, stream>>>(received, sum, cells);
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&result, sum, sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%g\n", result);
    CHECK(cudaSetDevice(first));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(made));
    CHECK(cudaSetDevice(second));
    CHECK(cudaFree(received));
    CHECK(cudaFree(sum));
    return 0;
}
