// A graph code: all pointers of its functions are restricted, and never change. The result's memory is given back in
// the order of the stream of the kernel.
#include <cstdio>

typedef unsigned char status_type;

__global__ void mark(const int nodes, const int* const __restrict row, status_type* const __restrict status)
{
    const int from = blockIdx.x * blockDim.x + threadIdx.x;
    for (int v = from; v < nodes; v += gridDim.x * blockDim.x) status[v] = row[v + 1] > row[v];
}

static void classify(const int nodes, const int* const __restrict row, cudaStream_t work)
{
    status_type* status;
    cudaMallocAsync((void**)&status, nodes, work);
    mark<<<32, 256, 0, work>>>(nodes, row, status);
    cudaFreeAsync(status, work);
}

int main()
{
    const int nodes = 1 << 16;
    int* row;
    cudaStream_t work;
    cudaStreamCreate(&work);
    cudaMalloc((void**)&row, (nodes + 1) * sizeof(int));
    cudaMemset(row, 0, (nodes + 1) * sizeof(int));
    cudaDeviceSynchronize();
    classify(nodes, row, work);
    cudaDeviceSynchronize();
    cudaFree(row);
    cudaStreamDestroy(work);
    printf("done\n");
    return 0;
}
