// The second kernel may begin while the first one still writes, and reads what that writes without waiting for it.
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

__global__ void normalise(float *values, int n)
{
    cudaTriggerProgrammaticLaunchCompletion();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = 1.0f / (1.0f + values[i] * values[i]);
}

__global__ void smooth(float *result, const float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float left = values[i > 0 ? i - 1 : 0];
    result[i] = 0.5f * (left + values[i]);
}

int main()
{
    const int n = 1 << 16;
    float *values, *result;
    CHECK(cudaMalloc(&values, n * sizeof(float)));
    CHECK(cudaMalloc(&result, n * sizeof(float)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemsetAsync(values, 0, n * sizeof(float), stream));

    normalise<<<n / 256, 256, 0, stream>>>(values, n);

    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(n / 256);
    config.blockDim = dim3(256);
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    const float *input = values;
    CHECK(cudaLaunchKernelEx(&config, smooth, result, input, n));  // expect: SS109

    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(values));
    CHECK(cudaFree(result));
    return 0;
}
