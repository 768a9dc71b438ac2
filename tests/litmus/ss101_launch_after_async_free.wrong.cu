// A normalisation step whose scratch buffer goes back to the pool too early.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                              \
    do {                                                                              \
        cudaError_t err_ = (call);                                                    \
        if (err_ != cudaSuccess) {                                                    \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
            std::exit(EXIT_FAILURE);                                                  \
        }                                                                             \
    } while (0)

__global__ void block_sums(const float* in, float* sums, int n)
{
    __shared__ float partial[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

__global__ void divide(float* data, const float* sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] /= sums[blockIdx.x];
}

int main()
{
    const int n = 1 << 20;
    const int block = 256;
    const int grid = (n + block - 1) / block;

    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreate(&stream));

    float* data = nullptr;
    float* sums = nullptr;
    CUDA_CHECK(cudaMallocAsync(&data, n * sizeof(float), stream));
    CUDA_CHECK(cudaMallocAsync(&sums, grid * sizeof(float), stream));
    CUDA_CHECK(cudaMemsetAsync(data, 1, n * sizeof(float), stream));

    block_sums<<<grid, block, 0, stream>>>(data, sums, n);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaFreeAsync(sums, stream));
    divide<<<grid, block, 0, stream>>>(data, sums, n);  // expect: SS101
    CUDA_CHECK(cudaGetLastError());

    CUDA_CHECK(cudaFreeAsync(data, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
