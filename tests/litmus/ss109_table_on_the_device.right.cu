// Gains of the channels are a __device__ variable. A kernel makes them anew while another stream's kernel still reads them.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

constexpr int kChannels = 256;

namespace mixer {
__device__ float gains[kChannels];
}

__global__ void make_gains(float exponent)
{
    mixer::gains[threadIdx.x] = powf(threadIdx.x / 255.0f, exponent);
}

__global__ void mix(const unsigned char* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * mixer::gains[threadIdx.x];
}

class Mixer {
public:
    Mixer()
    {
        CHECK(cudaStreamCreateWithFlags(&work_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&tune_, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&mixed_, cudaEventDisableTiming));
    }
    ~Mixer()
    {
        cudaStreamSynchronize(tune_);
        cudaStreamSynchronize(work_);
        cudaEventDestroy(mixed_);
        cudaStreamDestroy(tune_);
        cudaStreamDestroy(work_);
    }
    void frame(const unsigned char* in, float* out, int n)
    {
        mix<<<(n + 255) / 256, 256, 0, work_>>>(in, out, n);
        CHECK(cudaEventRecord(mixed_, work_));
    }
    void retune(float exponent)
    {
        CHECK(cudaStreamWaitEvent(tune_, mixed_, 0));
        make_gains<<<1, kChannels, 0, tune_>>>(exponent);
    }
    void settle() { CHECK(cudaStreamSynchronize(tune_)); }

private:
    cudaStream_t work_, tune_;
    cudaEvent_t mixed_;
};

int main()
{
    const int n = 1 << 20;
    unsigned char* in;
    float* out;
    CHECK(cudaMalloc(&in, n));
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    CHECK(cudaMemset(in, 100, n));
    CHECK(cudaDeviceSynchronize());
    {
        Mixer desk;
        desk.retune(2.2f);
        desk.settle();
        desk.frame(in, out, n);
        desk.retune(1.8f);
    }
    CHECK(cudaFree(out));
    CHECK(cudaFree(in));
    return 0;
}
