// The table is freed in the legacy default stream, which knows nothing of the non-blocking stream that reads it.
// On hardware the next table of the default stream gets the block, and the delayed lookup reads that one.
#include <cuda_runtime.h>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace {

void verify(cudaError_t status, const char* what)
{
    if (status == cudaSuccess) return;
    std::cout << "error: " << cudaGetErrorName(status) << " from " << what << std::endl;
    std::exit(EXIT_FAILURE);
}
#define VERIFY(call) verify(call, #call)

__global__ void idle(long long cycles)
{
    for (long long begin = clock64(); clock64() - begin < cycles;) {
    }
}

__global__ void tabulate(float* table, float scale, int size)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) table[i] = scale * i;
}

__global__ void look_up(const float* table, float* result, int size)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) result[i] = table[size - 1 - i];
}

}  // namespace

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    constexpr int size = 1 << 20, block = 256;
    cudaStream_t worker;
    VERIFY(cudaStreamCreateWithFlags(&worker, cudaStreamNonBlocking));
    float *result = nullptr, *table = nullptr, *next = nullptr;
    VERIFY(cudaMalloc(&result, size * sizeof(float)));

    VERIFY(cudaMallocAsync(&table, size * sizeof(float), nullptr));
    tabulate<<<size / block, block>>>(table, 0.5f, size);
    VERIFY(cudaDeviceSynchronize());

    idle<<<1, 1, 0, worker>>>(100'000'000);
    look_up<<<size / block, block, 0, worker>>>(table, result, size);
    VERIFY(cudaFreeAsync(table, nullptr));  // expect: SS102

    VERIFY(cudaMallocAsync(&next, size * sizeof(float), nullptr));
    tabulate<<<size / block, block>>>(next, -3.0f, size);
    VERIFY(cudaFreeAsync(next, nullptr));

    VERIFY(cudaStreamSynchronize(worker));
    std::vector<float> host(size);
    VERIFY(cudaMemcpy(host.data(), result, size * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < size; ++i) wrong += host[i] != 0.5f * (size - 1 - i);
    std::cout << "wrong words: " << wrong << std::endl;
    VERIFY(cudaFree(result));
    VERIFY(cudaStreamDestroy(worker));
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
