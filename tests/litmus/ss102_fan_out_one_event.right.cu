// Shared weights, one stream for each shard. A single event is recorded by every shard in turn:
// whoever waits after the loop waits for the last shard only.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                                                        \
    do {                                                                                     \
        cudaError_t e = (x);                                                                 \
        if (e != cudaSuccess) {                                                              \
            fprintf(stderr, "[%s:%d] %s: %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(e)); \
            exit(2);                                                                         \
        }                                                                                    \
    } while (false)

constexpr int kShards = 4;
constexpr int kPerShard = 1 << 16;

__global__ void project(const float* weights, const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * weights[i % 1024];
}

int main()
{
    std::vector<cudaStream_t> streams(kShards);
    for (auto& s : streams) CUDA_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    cudaStream_t main_stream;
    CUDA_CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));

    cudaEvent_t ready, done;
    CUDA_CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

    float* weights = nullptr;
    CUDA_CHECK(cudaMallocAsync(&weights, 1024 * sizeof(float), main_stream));
    CUDA_CHECK(cudaMemsetAsync(weights, 0, 1024 * sizeof(float), main_stream));
    CUDA_CHECK(cudaEventRecord(ready, main_stream));

    float* in[kShards];
    float* out[kShards];
    for (int i = 0; i < kShards; ++i) {
        CUDA_CHECK(cudaMallocAsync(&in[i], kPerShard * sizeof(float), streams[i]));
        CUDA_CHECK(cudaMallocAsync(&out[i], kPerShard * sizeof(float), streams[i]));
        CUDA_CHECK(cudaMemsetAsync(in[i], 0, kPerShard * sizeof(float), streams[i]));
        CUDA_CHECK(cudaStreamWaitEvent(streams[i], ready, 0));
        project<<<kPerShard / 256, 256, 0, streams[i]>>>(weights, in[i], out[i], kPerShard);
        CUDA_CHECK(cudaEventRecord(done, streams[i]));
        CUDA_CHECK(cudaStreamWaitEvent(main_stream, done, 0));
    }
    CUDA_CHECK(cudaFreeAsync(weights, main_stream));

    for (int i = 0; i < kShards; ++i) {
        CUDA_CHECK(cudaFreeAsync(in[i], streams[i]));
        CUDA_CHECK(cudaFreeAsync(out[i], streams[i]));
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    for (cudaStream_t s : streams) CUDA_CHECK(cudaStreamDestroy(s));
    CUDA_CHECK(cudaStreamDestroy(main_stream));
    CUDA_CHECK(cudaEventDestroy(ready));
    CUDA_CHECK(cudaEventDestroy(done));
}
