// Four shards read the weights; one event is recorded by each in turn, so that the wait covers the last shard only.
// On hardware the first shard is delayed, and multiplies with what the next owner of the weights' block wrote.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                           \
    do {                                                                                      \
        const cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                          \
            std::printf("error: %s in %s\n", cudaGetErrorName(status), #call);                \
            std::exit(1);                                                                     \
        }                                                                                     \
    } while (false)

__global__ void delay(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void set_weights(int* weights, int scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) weights[i] = scale * (i % 1000 + 1);
}

__global__ void project(const int* weights, int* out, int factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = weights[i] * factor;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int shards = 4, n = 1 << 20;
    cudaStream_t origin;
    CHECK(cudaStreamCreateWithFlags(&origin, cudaStreamNonBlocking));
    std::vector<cudaStream_t> streams(shards);
    for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaEvent_t ready, done;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    int *weights, *next, *out;
    CHECK(cudaMalloc(&out, shards * n * sizeof(int)));

    CHECK(cudaMallocAsync(&weights, n * sizeof(int), origin));
    set_weights<<<n / 256, 256, 0, origin>>>(weights, 1, n);
    CHECK(cudaEventRecord(ready, origin));
    delay<<<1, 1, 0, streams[0]>>>(100'000'000);
    for (int shard = 0; shard < shards; ++shard) {
        CHECK(cudaStreamWaitEvent(streams[shard], ready, 0));
        project<<<n / 256, 256, 0, streams[shard]>>>(weights, out + shard * n, shard + 1, n);
        CHECK(cudaEventRecord(done, streams[shard]));
    }
    CHECK(cudaStreamWaitEvent(origin, done, 0));
    CHECK(cudaFreeAsync(weights, origin));  // expect: SS102

    CHECK(cudaMallocAsync(&next, n * sizeof(int), origin));
    set_weights<<<n / 256, 256, 0, origin>>>(next, -1, n);
    CHECK(cudaFreeAsync(next, origin));

    CHECK(cudaDeviceSynchronize());
    std::vector<int> host(shards * n);
    CHECK(cudaMemcpy(host.data(), out, shards * n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaEventDestroy(done));
    for (auto stream : streams) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(origin));
    int wrong = 0;
    for (int i = 0; i < shards * n; ++i) wrong += host[i] != (i % n % 1000 + 1) * (i / n + 1);
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
