// Row blocks of a matrix are scaled by two streams; the second one is given one row too many before its block.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

__global__ void scale(float* x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

int main(int argc, char** argv)
{
    const int rows = argc > 1 ? std::atoi(argv[1]) : 1024;
    const int columns = argc > 2 ? std::atoi(argv[2]) : 512;
    const int half = rows / 2;
    cudaStream_t top, bottom;
    CHECK(cudaStreamCreate(&top));
    CHECK(cudaStreamCreate(&bottom));
    float* matrix;
    CHECK(cudaMalloc(&matrix, 2 * half * columns * sizeof(float)));
    CHECK(cudaMemset(matrix, 0, 2 * half * columns * sizeof(float)));
    CHECK(cudaDeviceSynchronize());

    const int count = half * columns;
    scale<<<(count + 255) / 256, 256, 0, top>>>(matrix, 2.0f, count);
    CHECK(cudaGetLastError());
    scale<<<(count + 255) / 256, 256, 0, bottom>>>(matrix + (half - 1) * columns, 3.0f, count);  // expect: SS109
    CHECK(cudaGetLastError());

    CHECK(cudaDeviceSynchronize());
    float first = 0;
    CHECK(cudaMemcpy(&first, matrix, sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%f\n", first);
    CHECK(cudaFree(matrix));
    CHECK(cudaStreamDestroy(top));
    CHECK(cudaStreamDestroy(bottom));
}
