// The wait for `allocated` stands before its record: it waits for nothing.
// On hardware the second buffer is the first one's block, whose delayed reader finds what the writer put there at once.
#include <cuda_runtime.h>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <vector>

static void throw_on_error(cudaError_t status)
{
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

__global__ void linger(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void pattern(unsigned char* bytes, unsigned char seed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) bytes[i] = static_cast<unsigned char>(seed + i % 64);
}

__global__ void widen(const unsigned char* bytes, int* words, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = bytes[i];
}

static int run()
{
    const int n = 1 << 22;
    cudaStream_t owner, writer;
    throw_on_error(cudaStreamCreateWithFlags(&owner, cudaStreamNonBlocking));
    throw_on_error(cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking));
    cudaEvent_t allocated;
    throw_on_error(cudaEventCreateWithFlags(&allocated, cudaEventDisableTiming));
    int* words;
    throw_on_error(cudaMalloc(&words, n * sizeof(int)));

    unsigned char *first, *second;
    throw_on_error(cudaMallocAsync(&first, n, owner));
    pattern<<<n / 256, 256, 0, owner>>>(first, 3, n);
    throw_on_error(cudaStreamSynchronize(owner));
    linger<<<1, 1, 0, owner>>>(100'000'000);
    widen<<<n / 256, 256, 0, owner>>>(first, words, n);
    throw_on_error(cudaFreeAsync(first, owner));

    throw_on_error(cudaMallocAsync(&second, n, owner));
    throw_on_error(cudaStreamWaitEvent(writer, allocated, 0));
    throw_on_error(cudaEventRecord(allocated, owner));
    pattern<<<n / 256, 256, 0, writer>>>(second, 150, n);  // expect: SS103
    throw_on_error(cudaFreeAsync(second, writer));

    std::vector<int> host(n);
    throw_on_error(cudaDeviceSynchronize());
    throw_on_error(cudaMemcpy(host.data(), words, n * sizeof(int), cudaMemcpyDeviceToHost));
    throw_on_error(cudaFree(words));
    throw_on_error(cudaEventDestroy(allocated));
    throw_on_error(cudaStreamDestroy(writer));
    throw_on_error(cudaStreamDestroy(owner));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 3 + i % 64;
    return wrong;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    try {
        const int wrong = run();
        std::cout << "wrong words: " << wrong << '\n';
        return wrong != 0;
    } catch (const std::runtime_error& error) {
        std::cout << "error: " << error.what() << '\n';
        return 1;
    }
}
