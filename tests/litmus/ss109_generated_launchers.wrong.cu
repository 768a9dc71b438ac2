// Launchers are made by a macro for each operation; the pipeline gives the second one another stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

#define ELEMENTWISE(name, expression)                                                                \
    __global__ void name##_kernel(const float* in, float* out, int n)                                \
    {                                                                                                \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                         \
        if (i < n) {                                                                                 \
            const float x = in[i];                                                                   \
            out[i] = (expression);                                                                   \
        }                                                                                            \
    }                                                                                                \
    static void name(const float* in, float* out, int n, cudaStream_t stream)                        \
    {                                                                                                \
        name##_kernel<<<(n + 255) / 256, 256, 0, stream>>>(in, out, n);                              \
        CHECK(cudaGetLastError());                                                                   \
    }

ELEMENTWISE(relu, x > 0 ? x : 0)
ELEMENTWISE(gelu, 0.5f * x * (1.0f + tanhf(0.79788f * (x + 0.044715f * x * x * x))))  // expect: SS109

int main()
{
    const int n = 1 << 16;
    float *a, *b, *c;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    for (float** p : {&a, &b, &c}) CHECK(cudaMalloc(p, n * sizeof(float)));
    CHECK(cudaMemsetAsync(a, 62, n * sizeof(float), first));
    relu(a, b, n, first);
    gelu(b, c, n, second);
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaStreamSynchronize(second));
    for (float* p : {a, b, c}) CHECK(cudaFree(p));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaStreamDestroy(first));
    return 0;
}
