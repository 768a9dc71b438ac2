// std::unique_ptr with a deleter that frees in stream order: the wrong stream's order.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>

inline void ok(cudaError_t status, int line)
{
    if (status != cudaSuccess) {
        std::printf("error %d in line %d\n", static_cast<int>(status), line);
        std::abort();
    }
}
#define OK(x) ok((x), __LINE__)

struct AsyncDeleter {
    cudaStream_t stream;
    void operator()(void* p) const { cudaFreeAsync(p, stream); }
};

template <typename T>
using async_ptr = std::unique_ptr<T, AsyncDeleter>;

template <typename T>
async_ptr<T> make_async(size_t count, cudaStream_t stream)
{
    T* raw = nullptr;
    OK(cudaMallocAsync(&raw, count * sizeof(T), stream));
    return async_ptr<T>(raw, AsyncDeleter{stream});
}

__global__ void scale(double* v, double f, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] *= f;
}

int main()
{
    const int n = 1 << 19;
    cudaStream_t a, b;
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    cudaEvent_t filled, scaled;
    OK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&scaled, cudaEventDisableTiming));

    {
        auto v = make_async<double>(n, a);
        OK(cudaMemsetAsync(v.get(), 0, n * sizeof(double), a));
        OK(cudaEventRecord(filled, a));
        OK(cudaStreamWaitEvent(b, filled, 0));
        scale<<<n / 256, 256, 0, b>>>(v.get(), 3.0, n);
        OK(cudaEventRecord(scaled, b));
        OK(cudaStreamWaitEvent(a, scaled, 0));
    }

    OK(cudaStreamSynchronize(a));
    OK(cudaStreamSynchronize(b));
    OK(cudaEventDestroy(filled));
    OK(cudaEventDestroy(scaled));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    return 0;
}
