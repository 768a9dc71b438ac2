// Each chunk is uploaded by its own stream, and computed on by the next one.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

__global__ void scale(float* x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    constexpr int streams = 4;
    const int chunk = n / streams;
    const size_t bytes = chunk * sizeof(float);
    cudaStream_t stream[streams];
    for (int i = 0; i < streams; ++i) CHECK(cudaStreamCreate(&stream[i]));
    float *host, *data;
    CHECK(cudaMallocHost(&host, bytes * streams));
    CHECK(cudaMalloc(&data, bytes * streams));
    for (int i = 0; i < chunk * streams; ++i) host[i] = 1.0f;

    for (int i = 0; i < streams; ++i) {
        const int offset = i * chunk;
        CHECK(cudaMemcpyAsync(&data[offset], &host[offset], bytes, cudaMemcpyHostToDevice, stream[i]));
        scale<<<(chunk + 255) / 256, 256, 0, stream[(i + 1) % streams]>>>(&data[offset], 2.0f, chunk);  // expect: SS109
        CHECK(cudaGetLastError());
    }

    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, data, bytes * streams, cudaMemcpyDeviceToHost));
    std::printf("%f\n", host[0]);
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(host));
    for (int i = 0; i < streams; ++i) CHECK(cudaStreamDestroy(stream[i]));
}
