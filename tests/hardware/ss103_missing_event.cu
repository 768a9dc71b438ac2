// The scratch buffer is allocated in the order of `post`, behind the free of the old one, and filled in `fill` at once.
// On hardware both have one address: the fill runs under the delayed reader of the old buffer.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                                         \
    do {                                                                                         \
        const cudaError_t status = call;                                                         \
        if (status != cudaSuccess) {                                                             \
            printf("error: %s (%s:%d)\n", cudaGetErrorString(status), __FILE__, __LINE__);       \
            exit(EXIT_FAILURE);                                                                  \
        }                                                                                        \
    } while (0)

__global__ void delay(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void number(int* words, int first, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = first + i;
}

__global__ void triple(const int* words, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 3 * words[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20;
    cudaStream_t post, fill;
    CUDA_CHECK(cudaStreamCreateWithFlags(&post, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&fill, cudaStreamNonBlocking));
    int *out, *old_words, *scratch;
    CUDA_CHECK(cudaMalloc(&out, n * sizeof(int)));

    CUDA_CHECK(cudaMallocAsync(&old_words, n * sizeof(int), post));
    number<<<n / 256, 256, 0, post>>>(old_words, 1, n);
    CUDA_CHECK(cudaStreamSynchronize(post));
    delay<<<1, 1, 0, post>>>(100'000'000);
    triple<<<n / 256, 256, 0, post>>>(old_words, out, n);
    CUDA_CHECK(cudaFreeAsync(old_words, post));

    CUDA_CHECK(cudaMallocAsync(&scratch, n * sizeof(int), post));
    number<<<n / 256, 256, 0, fill>>>(scratch, -n, n);  // expect: SS103
    CUDA_CHECK(cudaFreeAsync(scratch, fill));

    CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<int> host(n);
    CUDA_CHECK(cudaMemcpy(host.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(out));
    CUDA_CHECK(cudaStreamDestroy(fill));
    CUDA_CHECK(cudaStreamDestroy(post));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 3 * (1 + i);
    printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
