// The scratch memory is allocated once for all frames.
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

__global__ void filter(const float *in, float *scratch, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        scratch[i] = in[i] * 0.25f;
        out[i] = scratch[i] + in[i];
    }
}

int main()
{
    const int n = 1 << 18;
    float *in, *out;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    CHECK(cudaMemset(in, 0, n * sizeof(float)));
    float *scratch;
    CHECK(cudaMalloc(&scratch, n * sizeof(float)));

    for (int frame = 0; frame < 500; ++frame) {
        filter<<<n / 256, 256>>>(in, scratch, out, n);
    }

    float last;
    CHECK(cudaMemcpy(&last, out + n - 1, sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%f\n", last);
    CHECK(cudaFree(scratch));
    CHECK(cudaFree(out));
    CHECK(cudaFree(in));
    return 0;
}
