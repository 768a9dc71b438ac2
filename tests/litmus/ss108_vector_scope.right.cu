// A helper queues an upload from a local vector and returns.
#include <cuda_runtime.h>
#include <numeric>
#include <stdexcept>
#include <vector>

#define GPU(x)                                                              \
    do {                                                                    \
        if (cudaError_t e = (x); e != cudaSuccess)                          \
            throw std::runtime_error(cudaGetErrorString(e));                \
    } while (0)

__global__ void lookup(const int* table, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[i & 1023];
}

static void fill_table(int* device_table, int n, cudaStream_t stream)
{
    std::vector<int> table(n);
    std::iota(table.begin(), table.end(), 0);
    GPU(cudaMemcpyAsync(device_table, table.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream));
    GPU(cudaStreamSynchronize(stream));
}

int main()
{
    const int n = 1 << 20;
    cudaStream_t stream;
    GPU(cudaStreamCreate(&stream));
    int *table, *out;
    GPU(cudaMalloc(&table, 1024 * sizeof(int)));
    GPU(cudaMalloc(&out, n * sizeof(int)));

    fill_table(table, 1024, stream);
    lookup<<<n / 256, 256, 0, stream>>>(table, out, n);
    GPU(cudaGetLastError());

    GPU(cudaStreamSynchronize(stream));
    GPU(cudaFree(out));
    GPU(cudaFree(table));
    GPU(cudaStreamDestroy(stream));
    return 0;
}
