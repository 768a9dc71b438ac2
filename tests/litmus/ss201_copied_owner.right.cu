// An owner that can be copied: the by-value parameter frees the memory first, the caller's object again.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(x)                                                   \
    do {                                                                \
        cudaError_t e = (x);                                            \
        if (e != cudaSuccess) {                                         \
            fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e)); \
            abort();                                                    \
        }                                                               \
    } while (0)

struct DeviceArray {
    float* data = nullptr;
    int size = 0;

    explicit DeviceArray(int n) : size(n) { CUDA_CHECK(cudaMalloc(&data, n * sizeof(float))); }
    ~DeviceArray() { cudaFree(data); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
};

__global__ void add_one(float* v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] += 1.0f;
}

static void increment(DeviceArray& array)
{
    add_one<<<(array.size + 255) / 256, 256>>>(array.data, array.size);
    CUDA_CHECK(cudaDeviceSynchronize());
}

int main()
{
    DeviceArray values(1 << 16);
    CUDA_CHECK(cudaMemset(values.data, 0, values.size * sizeof(float)));
    increment(values);
    return 0;
}
