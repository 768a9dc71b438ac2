// A poller gives up after some attempts, so that the wait after it is needed: without it the buffer goes back too early.
#include <cuda_runtime.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

__global__ void crunch(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 1000 && i < n; ++k) p[i] = p[i] * 0.5f + 1.0f;
}

class Poller {
public:
    explicit Poller(int patience) : patience_(patience) {}
    bool done(cudaStream_t stream)
    {
        for (int attempt = 0; attempt < patience_; ++attempt) {
            const cudaError_t status = cudaStreamQuery(stream);
            if (status == cudaSuccess) return true;
            if (status != cudaErrorNotReady) CHECK(status);
            std::this_thread::sleep_for(std::chrono::microseconds(10));
        }
        return false;
    }

private:
    int patience_;
};

int main()
{
    const int n = 1 << 20;
    float* data;
    cudaStream_t compute, memory;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&memory, cudaStreamNonBlocking));
    CHECK(cudaMallocAsync(&data, n * sizeof(float), memory));
    CHECK(cudaMemsetAsync(data, 0, n * sizeof(float), memory));
    CHECK(cudaStreamSynchronize(memory));
    crunch<<<n / 256, 256, 0, compute>>>(data, n);
    Poller poller(8);
    const bool early = poller.done(compute);
    std::printf("%s\n", early ? "done early" : "still running");
    CHECK(cudaFreeAsync(data, memory));  // expect: SS102
    CHECK(cudaStreamSynchronize(memory));
    CHECK(cudaStreamSynchronize(compute));
    CHECK(cudaStreamDestroy(memory));
    CHECK(cudaStreamDestroy(compute));
    return 0;
}
