// Workers' streams are joined into the main stream by a loop over a vector; the loop that was adapted leaves out the first one.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void part(float* out, float value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}

__global__ void combine(const float* parts, float* sum, int parts_count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float total = 0;
    for (int k = 0; k < parts_count; ++k) total += parts[k * n + i];
    sum[i] = total;
}

static void join(const std::vector<cudaStream_t>& workers, cudaStream_t target)
{
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (cudaStream_t worker : workers) {
        CHECK(cudaEventRecord(event, worker));
        CHECK(cudaStreamWaitEvent(target, event, 0));
    }
    CHECK(cudaEventDestroy(event));
}

int main()
{
    const int n = 1 << 12, count = 4;
    float *parts, *sum;
    CHECK(cudaMalloc(&parts, count * n * sizeof(float)));
    CHECK(cudaMalloc(&sum, n * sizeof(float)));
    cudaStream_t target;
    CHECK(cudaStreamCreateWithFlags(&target, cudaStreamNonBlocking));
    std::vector<cudaStream_t> workers(count);
    for (cudaStream_t& worker : workers) CHECK(cudaStreamCreateWithFlags(&worker, cudaStreamNonBlocking));
    for (int k = 0; k < count; ++k) part<<<n / 256, 256, 0, workers[k]>>>(parts + k * n, k + 1.0f, n);
    join(workers, target);
    combine<<<n / 256, 256, 0, target>>>(parts, sum, count, n);
    CHECK(cudaStreamSynchronize(target));
    CHECK(cudaDeviceSynchronize());
    for (cudaStream_t worker : workers) CHECK(cudaStreamDestroy(worker));
    CHECK(cudaStreamDestroy(target));
    CHECK(cudaFree(sum));
    CHECK(cudaFree(parts));
    return 0;
}
