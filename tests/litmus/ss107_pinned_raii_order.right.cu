// RAII pinned memory: it is freed when its scope ends, before the stream was asked whether the copy is complete.
#include <cuda_runtime.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>

#define CUDA_CHECK(x)                                                        \
    if (auto rc_ = (x); rc_ != cudaSuccess) {                                \
        std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(rc_));       \
        std::exit(EXIT_FAILURE);                                             \
    }

struct PinnedFree {
    void operator()(void* p) const noexcept
    {
        cudaFreeHost(p);
    }
};
template <class T>
using pinned_ptr = std::unique_ptr<T[], PinnedFree>;

template <class T>
pinned_ptr<T> make_pinned(std::size_t n)
{
    void* p = nullptr;
    CUDA_CHECK(cudaHostAlloc(&p, n * sizeof(T), cudaHostAllocPortable))
    return pinned_ptr<T>(static_cast<T*>(p));
}

__global__ void weigh(const double* in, double* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 0.5;
}

int main()
{
    const int n = 1 << 16;
    cudaStream_t stream;
    double *in, *out;
    CUDA_CHECK(cudaStreamCreate(&stream))
    CUDA_CHECK(cudaMalloc(&in, n * sizeof(double)))
    CUDA_CHECK(cudaMalloc(&out, n * sizeof(double)))
    {
        auto staging = make_pinned<double>(n);
        for (int i = 0; i < n; ++i) staging[i] = i;
        CUDA_CHECK(cudaMemcpyAsync(in, staging.get(), n * sizeof(double), cudaMemcpyHostToDevice, stream))
        weigh<<<n / 256, 256, 0, stream>>>(in, out, n);
        CUDA_CHECK(cudaStreamSynchronize(stream))
    }
    CUDA_CHECK(cudaStreamSynchronize(stream))
    CUDA_CHECK(cudaFree(in))
    CUDA_CHECK(cudaFree(out))
    CUDA_CHECK(cudaStreamDestroy(stream))
    return 0;
}
