// Two stages of a pipeline, each with a stream of its own; nobody tells the second that the first is done.
// On hardware the first stage is delayed, and the second works on last round's values.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

inline void require(cudaError_t status)
{
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorName(status));
}

__global__ void delay(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void assemble(float* matrix, float round, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) matrix[i] = round * 100.0f + i % 100;
}

__global__ void apply(const float* matrix, float* result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) result[i] = matrix[i] - 50.0f;
}

class Stage {
public:
    Stage() { require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Stage() { cudaStreamDestroy(stream_); }
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    void hold() { delay<<<1, 1, 0, stream_>>>(100'000'000); }
    void assemble_round(float* matrix, int round, int n)
    {
        assemble<<<n / 256, 256, 0, stream_>>>(matrix, static_cast<float>(round), n);
    }
    void apply_to(const float* matrix, float* result, int n)
    {
        apply<<<n / 256, 256, 0, stream_>>>(matrix, result, n);  // expect: SS109
    }
    void finish() { require(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
};

static int run()
{
    const int n = 1 << 20;
    float *matrix, *result;
    require(cudaMalloc(&matrix, n * sizeof(float)));
    require(cudaMalloc(&result, n * sizeof(float)));
    Stage first, second;
    first.assemble_round(matrix, 1, n);
    first.finish();
    first.hold();
    first.assemble_round(matrix, 2, n);
    second.apply_to(matrix, result, n);
    second.finish();
    first.finish();

    std::vector<float> host(n);
    require(cudaMemcpy(host.data(), result, n * sizeof(float), cudaMemcpyDeviceToHost));
    require(cudaFree(matrix));
    require(cudaFree(result));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 150.0f + i % 100;
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    try {
        return run();
    } catch (const std::runtime_error& error) {
        std::printf("error: %s\n", error.what());
        return 1;
    }
}
