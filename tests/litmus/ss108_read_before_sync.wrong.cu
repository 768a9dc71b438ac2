// The result is read from pinned memory before the download is known to be complete.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(x)                                                     \
    do {                                                                  \
        cudaError_t e = (x);                                              \
        if (e != cudaSuccess) {                                           \
            fprintf(stderr, "CUDA error: %s\n", cudaGetErrorString(e));   \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

__global__ void maximum(const float* v, float* best, int n)
{
    float m = v[0];
    for (int i = 1; i < n; ++i) m = fmaxf(m, v[i]);
    *best = m;
}

int main()
{
    const int n = 4096;
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreate(&stream));
    float *v, *best, *answer;
    CUDA_CHECK(cudaMalloc(&v, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&best, sizeof(float)));
    CUDA_CHECK(cudaHostAlloc(&answer, sizeof(float), cudaHostAllocDefault));
    CUDA_CHECK(cudaMemsetAsync(v, 0, n * sizeof(float), stream));

    maximum<<<1, 1, 0, stream>>>(v, best, n);
    CUDA_CHECK(cudaMemcpyAsync(answer, best, sizeof(float), cudaMemcpyDeviceToHost, stream));
    float value = *answer;  // expect: SS108
    CUDA_CHECK(cudaStreamSynchronize(stream));
    printf("best %f\n", value);

    CUDA_CHECK(cudaFree(v));
    CUDA_CHECK(cudaFree(best));
    CUDA_CHECK(cudaFreeHost(answer));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
