// A matrix that was moved from the heap to the device; its owner calls cudaFree.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

struct Matrix {
    int rows, columns;
    double* values;
};

__global__ void scale(double* values, int n, double factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= factor;
}

static void upload(Matrix& matrix)
{
    const size_t bytes = sizeof(double) * matrix.rows * matrix.columns;
    double* copy = nullptr;
    if (cudaMalloc(&copy, bytes) != cudaSuccess) std::abort();
    if (cudaMemcpy(copy, matrix.values, bytes, cudaMemcpyHostToDevice) != cudaSuccess) std::abort();
    free(matrix.values);
    matrix.values = copy;
}

static void discard(Matrix& matrix)
{
    cudaFree(matrix.values);
    matrix.values = nullptr;
}

int main()
{
    Matrix matrix = {16, 32, static_cast<double*>(std::calloc(16 * 32, sizeof(double)))};
    upload(matrix);
    scale<<<2, 256>>>(matrix.values, 16 * 32, 0.5);
    if (cudaDeviceSynchronize() != cudaSuccess) std::abort();
    discard(matrix);
    double* staging = nullptr;
    if (cudaMallocHost(&staging, 64) != cudaSuccess) std::abort();
    cudaFreeHost(staging);
    return 0;
}
