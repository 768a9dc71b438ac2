// The bins are cleared in one stream and counted into in another.
// On hardware the clearing comes behind other work, and wipes out what has been counted by then.
#include <cuda_runtime.h>
#include <iostream>
#include <cstdlib>
#include <vector>

static void check(cudaError_t status, const char* file, int line)
{
    if (status == cudaSuccess) return;
    std::cout << "error: " << cudaGetErrorString(status) << " (" << file << ":" << line << ")\n";
    std::exit(1);
}
#define CHECK(call) check((call), __FILE__, __LINE__)

constexpr int kBins = 4096;
constexpr int kSamples = 1 << 20;

__global__ void housekeeping(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void count(unsigned* bins, int samples)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < samples) atomicAdd(&bins[i % kBins], 1u);
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    cudaStream_t prepare, histogram;
    CHECK(cudaStreamCreateWithFlags(&prepare, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&histogram, cudaStreamNonBlocking));
    unsigned* bins = nullptr;
    CHECK(cudaMalloc(&bins, kBins * sizeof(unsigned)));

    housekeeping<<<1, 1, 0, prepare>>>(100'000'000);
    CHECK(cudaMemsetAsync(bins, 0, kBins * sizeof(unsigned), prepare));
    count<<<kSamples / 256, 256, 0, histogram>>>(bins, kSamples);  // expect: SS109

    CHECK(cudaDeviceSynchronize());
    std::vector<unsigned> host(kBins);
    CHECK(cudaMemcpy(host.data(), bins, kBins * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(bins));
    CHECK(cudaStreamDestroy(histogram));
    CHECK(cudaStreamDestroy(prepare));
    int wrong = 0;
    for (unsigned bin : host) wrong += bin != kSamples / kBins;
    std::cout << "wrong words: " << wrong << std::endl;
    return wrong != 0;
}
