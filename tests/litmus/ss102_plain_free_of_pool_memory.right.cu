// An old call site frees memory with cudaFree although the allocation moved to the stream-ordered pool.
#include <cuda_runtime.h>
#include <iostream>

#define RETURN_IF_FAILED(expr)                                                       \
    if (cudaError_t e = (expr); e != cudaSuccess) {                                  \
        std::cerr << #expr << " failed: " << cudaGetErrorString(e) << std::endl;     \
        return 1;                                                                    \
    }

__global__ void saxpy(float a, const float* __restrict__ x, float* __restrict__ y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? 1 << 22 : 1 << 18;
    const size_t bytes = n * sizeof(float);

    cudaStream_t stream;
    RETURN_IF_FAILED(cudaStreamCreate(&stream));

    float *x, *y;
    RETURN_IF_FAILED(cudaMallocAsync(&x, bytes, stream));
    RETURN_IF_FAILED(cudaMallocAsync(&y, bytes, stream));
    RETURN_IF_FAILED(cudaMemsetAsync(x, 0, bytes, stream));
    RETURN_IF_FAILED(cudaMemsetAsync(y, 0, bytes, stream));

    saxpy<<<64, 256, 0, stream>>>(2.0f, x, y, n);
    RETURN_IF_FAILED(cudaGetLastError());

    RETURN_IF_FAILED(cudaFreeAsync(x, stream));
    RETURN_IF_FAILED(cudaFreeAsync(y, stream));
    RETURN_IF_FAILED(cudaStreamSynchronize(stream));
    RETURN_IF_FAILED(cudaStreamDestroy(stream));
    return 0;
}
