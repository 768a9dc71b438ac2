// The maxima go back to the pool before the kernel that divides by them is launched.
// On hardware the next buffer of that size is the same block, filled by then: the division uses its values.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                   \
    do {                                                                              \
        const cudaError_t status = (call);                                            \
        if (status != cudaSuccess) {                                                  \
            std::printf("error: %s, line %d\n", cudaGetErrorString(status), __LINE__); \
            std::exit(1);                                                             \
        }                                                                             \
    } while (0)

__global__ void fill(float* values, float value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = value;
}

__global__ void divide(const float* values, const float* maxima, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = values[i] / maxima[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(float);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    float *values, *out, *maxima, *weights;
    CHECK(cudaMalloc(&values, bytes));
    CHECK(cudaMalloc(&out, bytes));
    fill<<<n / 256, 256, 0, stream>>>(values, 6.0f, n);

    CHECK(cudaMallocAsync(&maxima, bytes, stream));
    fill<<<n / 256, 256, 0, stream>>>(maxima, 2.0f, n);
    CHECK(cudaFreeAsync(maxima, stream));
    CHECK(cudaMallocAsync(&weights, bytes, stream));
    fill<<<n / 256, 256, 0, stream>>>(weights, 0.5f, n);
    divide<<<n / 256, 256, 0, stream>>>(values, maxima, out, n);  // expect: SS101
    CHECK(cudaFreeAsync(weights, stream));

    CHECK(cudaStreamSynchronize(stream));
    std::vector<float> host(n);
    CHECK(cudaMemcpy(host.data(), out, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    CHECK(cudaFree(values));
    CHECK(cudaStreamDestroy(stream));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 3.0f;
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
