// "The reader is done" is recorded before the reader is launched.
// On hardware the free goes ahead, the next block is the same one, and the delayed reader finds zeros.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                                                              \
    do {                                                                                           \
        cudaError_t err = (x);                                                                     \
        if (err != cudaSuccess) {                                                                  \
            printf("error: %s at %s:%d\n", cudaGetErrorString(err), __FILE__, __LINE__);           \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

__global__ void long_step(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void write_ids(int *ids, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) ids[i] = i + 1;
}

__global__ void squares(const int *ids, long long *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (long long)ids[i] * ids[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20;
    cudaStream_t front, back;
    CUDA_CHECK(cudaStreamCreateWithFlags(&front, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&back, cudaStreamNonBlocking));
    cudaEvent_t written, read;
    CUDA_CHECK(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
    long long *out;
    CUDA_CHECK(cudaMalloc(&out, n * sizeof(long long)));

    int *ids, *zeros;
    CUDA_CHECK(cudaMallocAsync(&ids, n * sizeof(int), front));
    write_ids<<<n / 256, 256, 0, front>>>(ids, n);
    CUDA_CHECK(cudaEventRecord(written, front));

    CUDA_CHECK(cudaStreamWaitEvent(back, written, 0));
    CUDA_CHECK(cudaEventRecord(read, back));
    long_step<<<1, 1, 0, back>>>(100'000'000);
    squares<<<n / 256, 256, 0, back>>>(ids, out, n);

    CUDA_CHECK(cudaStreamWaitEvent(front, read, 0));
    CUDA_CHECK(cudaFreeAsync(ids, front));  // expect: SS102
    CUDA_CHECK(cudaMallocAsync(&zeros, n * sizeof(int), front));
    CUDA_CHECK(cudaMemsetAsync(zeros, 0, n * sizeof(int), front));
    CUDA_CHECK(cudaFreeAsync(zeros, front));

    CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<long long> host(n);
    CUDA_CHECK(cudaMemcpy(host.data(), out, n * sizeof(long long), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(out));
    CUDA_CHECK(cudaEventDestroy(read));
    CUDA_CHECK(cudaEventDestroy(written));
    CUDA_CHECK(cudaStreamDestroy(back));
    CUDA_CHECK(cudaStreamDestroy(front));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != (i + 1LL) * (i + 1LL);
    printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
