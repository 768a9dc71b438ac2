// In the loop the wait stands before the record: it waits for the previous round, in the first round for nothing.
#include <cuda_runtime.h>
#include <stdexcept>
#include <vector>

static void throw_on_error(cudaError_t status)
{
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

__global__ void accumulate(const float* chunk, float* sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, chunk[i]);
}

int main()
{
    const int n = 1 << 14;
    const int rounds = 3;
    cudaStream_t feed, work;
    throw_on_error(cudaStreamCreateWithFlags(&feed, cudaStreamNonBlocking));
    throw_on_error(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    cudaEvent_t fed;
    throw_on_error(cudaEventCreateWithFlags(&fed, cudaEventDisableTiming));

    float* sum;
    throw_on_error(cudaMalloc(&sum, sizeof(float)));
    throw_on_error(cudaMemsetAsync(sum, 0, sizeof(float), work));

    for (int round = 0; round < rounds; ++round) {
        float* chunk;
        throw_on_error(cudaMallocAsync(&chunk, n * sizeof(float), feed));
        throw_on_error(cudaEventRecord(fed, feed));
        throw_on_error(cudaStreamWaitEvent(work, fed, 0));
        throw_on_error(cudaMemsetAsync(chunk, 0, n * sizeof(float), work));
        accumulate<<<n / 128, 128, 0, work>>>(chunk, sum, n);
        throw_on_error(cudaFreeAsync(chunk, work));
    }

    std::vector<float> host(1);
    throw_on_error(cudaStreamSynchronize(work));
    throw_on_error(cudaMemcpy(host.data(), sum, sizeof(float), cudaMemcpyDeviceToHost));
    throw_on_error(cudaFree(sum));
    throw_on_error(cudaEventDestroy(fed));
    throw_on_error(cudaStreamDestroy(work));
    throw_on_error(cudaStreamDestroy(feed));
    return host[0] == 0.0f ? 0 : 1;
}
