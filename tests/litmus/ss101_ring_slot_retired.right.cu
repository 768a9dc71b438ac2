// Two slots used in turn. The slot of the previous step is given back before the step that still reads it.
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

inline void gpu(cudaError_t status)
{
    if (status != cudaSuccess) throw std::runtime_error(std::string("cuda: ") + cudaGetErrorString(status));
}

__global__ void advance(const int* previous, int* next, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) next[i] = previous[i] + 1;
}

int main()
{
    constexpr int n = 1 << 16;
    constexpr int steps = 4;
    cudaStream_t stream{};
    gpu(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    int* slot[2] = {nullptr, nullptr};
    gpu(cudaMallocAsync(&slot[0], n * sizeof(int), stream));
    gpu(cudaMemsetAsync(slot[0], 0, n * sizeof(int), stream));

    for (int step = 1; step <= steps; ++step) {
        int now = step % 2;
        int before = 1 - now;
        gpu(cudaMallocAsync(&slot[now], n * sizeof(int), stream));
        advance<<<n / 256, 256, 0, stream>>>(slot[before], slot[now], n);
        gpu(cudaFreeAsync(slot[before], stream));
        gpu(cudaGetLastError());
    }

    gpu(cudaFreeAsync(slot[steps % 2], stream));
    gpu(cudaStreamSynchronize(stream));
    gpu(cudaStreamDestroy(stream));
    return 0;
}
