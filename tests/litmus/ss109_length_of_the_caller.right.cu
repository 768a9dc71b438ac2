// Samples of a length that only the caller knows: the upload is on one stream, the kernel that scales them on another.
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

__global__ void scale(float *samples, int n, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) samples[i] *= factor;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    float *host = nullptr, *samples = nullptr;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMalloc(&samples, n * sizeof(float)));
    for (int i = 0; i < n; ++i) host[i] = float(i % 7);
    cudaStream_t upload, compute;
    cudaEvent_t there;
    CHECK(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&there, cudaEventDisableTiming));

    CHECK(cudaMemcpyAsync(samples, host, n * sizeof(float), cudaMemcpyHostToDevice, upload));
    CHECK(cudaEventRecord(there, upload));
    CHECK(cudaStreamWaitEvent(compute, there, 0));
    scale<<<(n + 255) / 256, 256, 0, compute>>>(samples, n, 0.5f);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, samples, n * sizeof(float), cudaMemcpyDeviceToHost));

    std::printf("%f\n", host[n - 1]);
    CHECK(cudaEventDestroy(there));
    CHECK(cudaStreamDestroy(upload));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaFree(samples));
    CHECK(cudaFreeHost(host));
    return 0;
}
