// Filter weights in a __device__ table are replaced on a stream of their own while another stream's kernels read them.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int taps = 32;
__device__ float weights[taps];

__device__ float weighted(const float* signal, int at)
{
    float sum = 0.0f;
    for (int tap = 0; tap < taps; ++tap) sum += weights[tap] * signal[at + tap];
    return sum;
}

__global__ void filter(const float* signal, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + taps < n) out[i] = weighted(signal, i);
}

struct Filter {
    cudaStream_t compute = nullptr, update = nullptr;
    cudaEvent_t updated = nullptr;
    float *signal = nullptr, *out = nullptr, *staging = nullptr;
    int n;

    explicit Filter(int count) : n(count)
    {
        CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&update, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&updated, cudaEventDisableTiming));
        CHECK(cudaMalloc(&signal, sizeof(float) * n));
        CHECK(cudaMalloc(&out, sizeof(float) * n));
        CHECK(cudaMallocHost(&staging, sizeof(float) * taps));
    }
    ~Filter()
    {
        cudaFreeHost(staging);
        cudaFree(out);
        cudaFree(signal);
        cudaEventDestroy(updated);
        cudaStreamDestroy(update);
        cudaStreamDestroy(compute);
    }
    void set_weights(float value)
    {
        for (int tap = 0; tap < taps; ++tap) staging[tap] = value / (tap + 1);
        CHECK(cudaMemcpyToSymbolAsync(weights, staging, sizeof(float) * taps, 0, cudaMemcpyHostToDevice, update));
        CHECK(cudaEventRecord(updated, update));
    }
    void run()
    {
        filter<<<(n + 255) / 256, 256, 0, compute>>>(signal, out, n);  // expect: SS109
        CHECK(cudaGetLastError());
    }
    void finish()
    {
        CHECK(cudaStreamSynchronize(update));
        CHECK(cudaStreamSynchronize(compute));
    }
};

int main()
{
    Filter filter(1 << 16);
    CHECK(cudaMemsetAsync(filter.signal, 0, sizeof(float) * filter.n, filter.compute));
    filter.set_weights(0.5f);
    filter.run();
    filter.finish();
    return 0;
}
