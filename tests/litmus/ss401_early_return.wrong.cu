// One of two buffers is still alive when the program ends.
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

__global__ void copy_odd(const int* in, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i + 1 < n) out[i] = in[2 * i + 1];
}

int main()
{
    const int n = 1 << 12;
    int* in;
    int* out;
    CUDA_CHECK(cudaMalloc(&in, n * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&out, n / 2 * sizeof(int)));  // expect-note: SS401
    CUDA_CHECK(cudaMemset(in, 0, n * sizeof(int)));
    copy_odd<<<n / 512, 256>>>(in, out, n);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFree(in));
    return 0;
}
