// Kernels by pointer, their arguments in arrays of addresses: the second launch does not wait for the first one's output.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

__global__ void blur(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.5f * (in[i] + in[i > 0 ? i - 1 : 0]);
}

__global__ void threshold(const float* in, unsigned char* mask, float level, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) mask[i] = in[i] > level;
}

struct Task {
    const void* kernel;
    dim3 grid, block;
    cudaStream_t stream;
    void operator()(void** arguments) const
    {
        CHECK(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream));  // expect: SS109
    }
};

int main()
{
    int n = 1 << 18;
    float level = 0.25f;
    float *image, *smooth;
    unsigned char* mask;
    cudaStream_t filter, label;
    cudaEvent_t smoothed;
    CHECK(cudaStreamCreateWithFlags(&filter, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&label, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&smoothed, cudaEventDisableTiming));
    CHECK(cudaMalloc(&image, n * sizeof(float)));
    CHECK(cudaMalloc(&smooth, n * sizeof(float)));
    CHECK(cudaMalloc(&mask, n));
    CHECK(cudaMemsetAsync(image, 63, n * sizeof(float), filter));

    void* blur_args[] = {&image, &smooth, &n};
    void* threshold_args[] = {&smooth, &mask, &level, &n};
    const Task first{(const void*)blur, dim3(n / 256), dim3(256), filter};
    const Task second{(const void*)threshold, dim3(n / 256), dim3(256), label};
    first(blur_args);
    CHECK(cudaEventRecord(smoothed, filter));
    second(threshold_args);

    CHECK(cudaStreamSynchronize(filter));
    CHECK(cudaStreamSynchronize(label));
    CHECK(cudaFree(mask));
    CHECK(cudaFree(smooth));
    CHECK(cudaFree(image));
    CHECK(cudaEventDestroy(smoothed));
    CHECK(cudaStreamDestroy(label));
    CHECK(cudaStreamDestroy(filter));
    return 0;
}
