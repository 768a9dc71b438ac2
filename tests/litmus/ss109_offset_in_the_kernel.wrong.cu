// The kernel is given the array and where to begin: in the part that is still being uploaded.
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

__global__ void add_at(float* x, int from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[from + i] += 1.0f;
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    cudaStream_t upload, compute;
    CHECK(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    std::vector<float> zero(2 * n);
    float *host, *data;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMalloc(&data, 2 * n * sizeof(float)));
    CHECK(cudaMemcpy(data, zero.data(), 2 * n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; ++i) host[i] = 1.0f;

    CHECK(cudaMemcpyAsync(data + n, host, n * sizeof(float), cudaMemcpyHostToDevice, upload));
    add_at<<<(n + 127) / 128, 128, 0, compute>>>(data, n, n);  // expect: SS109
    CHECK(cudaGetLastError());

    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, data + n, sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%f\n", host[0]);
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(host));
    CHECK(cudaStreamDestroy(upload));
    CHECK(cudaStreamDestroy(compute));
}
