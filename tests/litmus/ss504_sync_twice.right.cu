// The stream is synchronised, and the whole device once more right after it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

template <typename Status>
void expect_success(Status status)
{
    if (status != cudaSuccess) {
        std::fprintf(stderr, "CUDA error %d\n", static_cast<int>(status));
        std::exit(1);
    }
}

__global__ void threshold(const float* in, unsigned char* mask, float limit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) mask[i] = in[i] > limit;
}

int main()
{
    const int n = 1 << 15;
    std::vector<float> in(n, 0.5f);
    std::vector<unsigned char> mask(n);
    cudaStream_t stream;
    expect_success(cudaStreamCreate(&stream));
    float* d_in;
    unsigned char* d_mask;
    expect_success(cudaMalloc(&d_in, n * sizeof(float)));
    expect_success(cudaMalloc(&d_mask, n));

    expect_success(cudaMemcpyAsync(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream));
    threshold<<<n / 256, 256, 0, stream>>>(d_in, d_mask, 0.25f, n);
    expect_success(cudaMemcpyAsync(mask.data(), d_mask, n, cudaMemcpyDeviceToHost, stream));
    expect_success(cudaStreamSynchronize(stream));

    std::printf("%d\n", mask[0]);
    expect_success(cudaFree(d_in));
    expect_success(cudaFree(d_mask));
    expect_success(cudaStreamDestroy(stream));
    return 0;
}
