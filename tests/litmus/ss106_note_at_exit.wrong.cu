// main returns with a kernel still in flight.
#include <cuda_runtime.h>
#include <cstdio>

__global__ void report(int* flag, int n)
{
    for (int i = 0; i < n; ++i) atomicAdd(flag, i);
}

int main()
{
    int* flag = nullptr;
    if (cudaMalloc(&flag, sizeof(int)) != cudaSuccess) {
        std::fprintf(stderr, "no memory\n");
        return 1;
    }
    cudaStream_t stream;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
        cudaFree(flag);
        return 1;
    }
    cudaMemsetAsync(flag, 0, sizeof(int), stream);
    for (int round = 0; round < 8; ++round) {
        report<<<1, 1, 0, stream>>>(flag, 1000);
    }
    return 0;  // expect-note: SS106
}
