// Where a kernel writes, a table says; the copy of the whole array beside it meets that wherever it is. Sizes are the caller's.
#include <cuda_runtime.h>

__global__ void scatter(float* out, const int* where, const float* values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[where[i]] = values[i];
}

int apply(float* pinned, const int* where, const float* values, int count, int slots)
{
    cudaStream_t write, read;
    cudaStreamCreateWithFlags(&write, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&read, cudaStreamNonBlocking);
    float* table;
    if (cudaMalloc(&table, slots * sizeof(float)) != cudaSuccess) return 1;
    cudaMemset(table, 0, slots * sizeof(float));
    cudaDeviceSynchronize();
    scatter<<<(count + 255) / 256, 256, 0, write>>>(table, where, values, count);
    cudaMemcpyAsync(pinned, table, slots * sizeof(float), cudaMemcpyDeviceToHost, read);  // expect: SS109
    cudaStreamSynchronize(read);
    cudaStreamSynchronize(write);
    cudaFree(table);
    cudaStreamDestroy(read);
    cudaStreamDestroy(write);
    return 0;
}
