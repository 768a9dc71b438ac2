// The kernel works on the back half while the whole array is still being uploaded.
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
    const int half = n / 2;
    cudaStream_t upload, compute;
    CHECK(cudaStreamCreate(&upload));
    CHECK(cudaStreamCreate(&compute));
    float *host, *data;
    CHECK(cudaMallocHost(&host, 2 * half * sizeof(float)));
    CHECK(cudaMalloc(&data, 2 * half * sizeof(float)));
    for (int i = 0; i < 2 * half; ++i) host[i] = 1.0f;

    CHECK(cudaMemcpy(data, host, 2 * half * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyAsync(data, host, 2 * half * sizeof(float), cudaMemcpyHostToDevice, upload));
    scale<<<(half + 255) / 256, 256, 0, compute>>>(data + half, 2.0f, half);  // expect: SS109
    CHECK(cudaGetLastError());

    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, data, 2 * half * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%f\n", host[2 * half - 1]);
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(host));
    CHECK(cudaStreamDestroy(upload));
    CHECK(cudaStreamDestroy(compute));
}
