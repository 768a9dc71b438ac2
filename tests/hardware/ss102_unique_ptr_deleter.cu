// A unique_ptr whose deleter remembers the stream of the allocation; the reader is in another stream.
// On hardware the pointer of the next step gets the block at once, and the delayed gather reads its values.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define OK(call)                                                                            \
    if (cudaError_t status_ = (call); status_ != cudaSuccess) {                             \
        std::printf("error: %s, line %d\n", cudaGetErrorString(status_), __LINE__);         \
        std::exit(1);                                                                       \
    }

struct InStream {
    cudaStream_t stream;
    void operator()(double* p) const { cudaFreeAsync(p, stream); }  // expect: SS102
};
using Values = std::unique_ptr<double, InStream>;

Values make_values(int count, cudaStream_t stream)
{
    double* raw = nullptr;
    OK(cudaMallocAsync(&raw, count * sizeof(double), stream));
    return Values(raw, InStream{stream});
}

__global__ void occupy(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void produce(double* values, double step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = step * (i + 1);
}

__global__ void gather(const double* values, double* sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] += values[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 19;
    cudaStream_t source, sink;
    OK(cudaStreamCreateWithFlags(&source, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&sink, cudaStreamNonBlocking));
    cudaEvent_t produced;
    OK(cudaEventCreateWithFlags(&produced, cudaEventDisableTiming));
    double* sum = nullptr;
    OK(cudaMalloc(&sum, n * sizeof(double)));
    OK(cudaMemsetAsync(sum, 0, n * sizeof(double), sink));
    occupy<<<1, 1, 0, sink>>>(100'000'000);

    for (int step = 1; step <= 3; ++step) {
        Values values = make_values(n, source);
        produce<<<n / 256, 256, 0, source>>>(values.get(), step, n);
        OK(cudaEventRecord(produced, source));
        OK(cudaStreamWaitEvent(sink, produced, 0));
        gather<<<n / 256, 256, 0, sink>>>(values.get(), sum, n);
    }

    OK(cudaDeviceSynchronize());
    std::vector<double> host(n);
    OK(cudaMemcpy(host.data(), sum, n * sizeof(double), cudaMemcpyDeviceToHost));
    OK(cudaFree(sum));
    OK(cudaEventDestroy(produced));
    OK(cudaStreamDestroy(sink));
    OK(cudaStreamDestroy(source));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 6.0 * (i + 1);
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
