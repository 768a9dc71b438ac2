// pipeline.cu put right: the free waits for the kernel, the allocation for nobody.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                                  \
    do {                                                                                  \
        cudaError_t status_ = (call);                                                     \
        if (status_ != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                      \
        }                                                                                 \
    } while (0)

__global__ void scale(const float* in, float* out, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}

int main()
{
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(float);

    cudaStream_t upload, compute;
    CUDA_CHECK(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    cudaEvent_t uploaded, scaled;
    CUDA_CHECK(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&scaled, cudaEventDisableTiming));

    float *host, *result;
    CUDA_CHECK(cudaMallocHost(&host, bytes));
    CUDA_CHECK(cudaMalloc(&result, bytes));
    for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i);

    float* input;
    CUDA_CHECK(cudaMallocAsync(&input, bytes, upload));
    CUDA_CHECK(cudaMemcpyAsync(input, host, bytes, cudaMemcpyHostToDevice, upload));
    CUDA_CHECK(cudaEventRecord(uploaded, upload));

    CUDA_CHECK(cudaStreamWaitEvent(compute, uploaded, 0));
    scale<<<(n + 255) / 256, 256, 0, compute>>>(input, result, 0.5f, n);
    CUDA_CHECK(cudaEventRecord(scaled, compute));
    CUDA_CHECK(cudaStreamWaitEvent(upload, scaled, 0));
    CUDA_CHECK(cudaFreeAsync(input, upload));

    CUDA_CHECK(cudaMemcpyAsync(host, result, bytes, cudaMemcpyDeviceToHost, compute));
    CUDA_CHECK(cudaDeviceSynchronize());
    std::printf("%g\n", host[n - 1]);

    CUDA_CHECK(cudaFree(result));
    CUDA_CHECK(cudaFreeHost(host));
    CUDA_CHECK(cudaEventDestroy(scaled));
    CUDA_CHECK(cudaEventDestroy(uploaded));
    CUDA_CHECK(cudaStreamDestroy(compute));
    CUDA_CHECK(cudaStreamDestroy(upload));
    return 0;
}
