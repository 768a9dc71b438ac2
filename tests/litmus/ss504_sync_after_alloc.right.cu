// The host waits after every allocation although nothing before the next wait needs it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(x)                                        \
    do {                                                     \
        cudaError_t e = (x);                                 \
        if (e != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(e));  \
            exit(1);                                         \
        }                                                    \
    } while (0)

__global__ void relax(double* grid, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) grid[i] *= 0.5;
}

int main()
{
    const int n = 1 << 18;
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    for (int step = 0; step < 3; ++step) {
        double* grid = nullptr;
        CUDA_CHECK(cudaMallocAsync(&grid, n * sizeof(double), stream));
        CUDA_CHECK(cudaMemsetAsync(grid, 0, n * sizeof(double), stream));
        relax<<<n / 256, 256, 0, stream>>>(grid, n);
        CUDA_CHECK(cudaFreeAsync(grid, stream));
    }
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
