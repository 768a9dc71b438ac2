// Double buffering: the computation waits for each upload, the next upload into a slot does not wait for the computation.
// On hardware the computation is delayed, and chunks 0 and 1 are overwritten by 2 and 3 before they are used.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                                                           \
    do {                                                                                        \
        cudaError_t err = (x);                                                                  \
        if (err != cudaSuccess) {                                                               \
            printf("error: %s at %s:%d\n", cudaGetErrorString(err), __FILE__, __LINE__);        \
            exit(EXIT_FAILURE);                                                                 \
        }                                                                                       \
    } while (0)

__global__ void warm_up(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void transform(const int *chunk, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 5 * chunk[i] - 1;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 18, chunks = 4;
    cudaStream_t upload, compute;
    CUDA_CHECK(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    cudaEvent_t uploaded[2];
    for (auto &event : uploaded) CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

    int *input, *out, *slots[2];
    CUDA_CHECK(cudaMallocHost(&input, chunks * n * sizeof(int)));
    for (int i = 0; i < chunks * n; ++i) input[i] = i;
    for (auto &slot : slots) CUDA_CHECK(cudaMalloc(&slot, n * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&out, chunks * n * sizeof(int)));

    warm_up<<<1, 1, 0, compute>>>(100'000'000);
    for (int c = 0; c < chunks; ++c) {
        int *slot = slots[c % 2];
        CUDA_CHECK(cudaMemcpyAsync(slot, input + c * n, n * sizeof(int), cudaMemcpyHostToDevice, upload));  // expect: SS109
        CUDA_CHECK(cudaEventRecord(uploaded[c % 2], upload));
        CUDA_CHECK(cudaStreamWaitEvent(compute, uploaded[c % 2], 0));
        transform<<<n / 256, 256, 0, compute>>>(slot, out + c * n, n);
    }

    CUDA_CHECK(cudaStreamSynchronize(compute));
    std::vector<int> host(chunks * n);
    CUDA_CHECK(cudaMemcpy(host.data(), out, chunks * n * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(out));
    for (auto slot : slots) CUDA_CHECK(cudaFree(slot));
    CUDA_CHECK(cudaFreeHost(input));
    for (auto event : uploaded) CUDA_CHECK(cudaEventDestroy(event));
    CUDA_CHECK(cudaStreamDestroy(compute));
    CUDA_CHECK(cudaStreamDestroy(upload));
    int wrong = 0;
    for (int i = 0; i < chunks * n; ++i) wrong += host[i] != 5 * i - 1;
    printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
