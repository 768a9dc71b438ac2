// The upload stream takes the input back while the compute stream has yet to read it.
// On hardware the next batch gets the block at once, and the delayed kernel doubles that one.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                   \
    do {                                                                              \
        const cudaError_t status = (call);                                            \
        if (status != cudaSuccess) {                                                  \
            std::printf("error: %s, line %d\n", cudaGetErrorString(status), __LINE__); \
            std::exit(1);                                                             \
        }                                                                             \
    } while (0)

__global__ void earlier_work(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void fill(int* out, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value + i;
}

__global__ void twice(const int* in, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20;
    cudaStream_t upload, compute;
    CHECK(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    cudaEvent_t uploaded;
    CHECK(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
    int *out, *batch, *next;
    CHECK(cudaMalloc(&out, n * sizeof(int)));

    CHECK(cudaMallocAsync(&batch, n * sizeof(int), upload));
    fill<<<n / 256, 256, 0, upload>>>(batch, 1, n);
    CHECK(cudaEventRecord(uploaded, upload));
    CHECK(cudaStreamWaitEvent(compute, uploaded, 0));
    earlier_work<<<1, 1, 0, compute>>>(100'000'000);
    twice<<<n / 256, 256, 0, compute>>>(batch, out, n);
    CHECK(cudaFreeAsync(batch, upload));  // expect: SS102

    CHECK(cudaMallocAsync(&next, n * sizeof(int), upload));
    fill<<<n / 256, 256, 0, upload>>>(next, -n, n);
    CHECK(cudaFreeAsync(next, upload));

    CHECK(cudaDeviceSynchronize());
    std::vector<int> host(n);
    CHECK(cudaMemcpy(host.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(uploaded));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(upload));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 2 * (1 + i);
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
