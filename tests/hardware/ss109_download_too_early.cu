// The result is downloaded in another stream than the one that computes it, without waiting for it.
// On hardware the copy runs while the computation is delayed: the host gets the zeros from before.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                           \
    do {                                                                                      \
        const cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                          \
            std::printf("error: %s in %s\n", cudaGetErrorName(status), #call);                \
            std::exit(1);                                                                     \
        }                                                                                     \
    } while (false)

__global__ void earlier_frames(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void render(unsigned* image, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) image[i] = 0xff000000u | i;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(unsigned);
    cudaStream_t compute, download;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&download, cudaStreamNonBlocking));
    unsigned *image, *host;
    CHECK(cudaMalloc(&image, bytes));
    CHECK(cudaMallocHost(&host, bytes));
    CHECK(cudaMemset(image, 0, bytes));
    CHECK(cudaDeviceSynchronize());

    earlier_frames<<<1, 1, 0, compute>>>(100'000'000);
    render<<<n / 256, 256, 0, compute>>>(image, n);
    CHECK(cudaMemcpyAsync(host, image, bytes, cudaMemcpyDeviceToHost, download));  // expect: SS109
    CHECK(cudaStreamSynchronize(download));

    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != (0xff000000u | i);
    std::printf("wrong words: %d\n", wrong);
    CHECK(cudaStreamSynchronize(compute));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(image));
    CHECK(cudaStreamDestroy(download));
    CHECK(cudaStreamDestroy(compute));
    return wrong != 0;
}
