// Correct, but the pool loses the order: stream-ordered memory freed with cudaFree after a host wait.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                              \
    do {                                                           \
        cudaError_t e = (x);                                       \
        if (e != cudaSuccess) {                                    \
            fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); \
            exit(1);                                               \
        }                                                          \
    } while (0)

__global__ void cumulative(const float* in, float* out, int n)
{
    float s = 0.0f;
    for (int i = 0; i < n; ++i) out[i] = (s += in[i]);
}

static void scan(std::vector<float>& values, cudaStream_t stream)
{
    const int n = static_cast<int>(values.size());
    const size_t bytes = n * sizeof(float);
    float *in, *out;
    CUDA_CHECK(cudaMallocAsync(&in, bytes, stream));
    CUDA_CHECK(cudaMallocAsync(&out, bytes, stream));
    CUDA_CHECK(cudaMemcpyAsync(in, values.data(), bytes, cudaMemcpyHostToDevice, stream));
    cumulative<<<1, 1, 0, stream>>>(in, out, n);
    CUDA_CHECK(cudaMemcpyAsync(values.data(), out, bytes, cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaFree(in));  // expect-note: SS206
    CUDA_CHECK(cudaFree(out));  // expect-note: SS206
}

int main()
{
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    std::vector<float> values(1000, 1.0f);
    for (int i = 0; i < 2; ++i) scan(values, stream);
    printf("%f\n", values.back());
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
