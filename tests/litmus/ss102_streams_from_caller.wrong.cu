// A library without a main: the caller hands both streams in, and may hand in the same one. A note at most.
#include <cuda_runtime.h>
#include <stdexcept>

namespace detail {

inline void check(cudaError_t status)
{
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

template <typename T>
__global__ void axpy(T a, const T* x, T* y, size_t n)
{
    size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

template <typename T>
class Scratch {
public:
    Scratch(size_t n, cudaStream_t stream) : stream_{stream} { check(cudaMallocAsync(&data_, n * sizeof(T), stream_)); }
    ~Scratch() noexcept { cudaFreeAsync(data_, stream_); }  // expect-note: SS102
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    T* data() const noexcept { return data_; }

private:
    T* data_{};
    cudaStream_t stream_;
};

}  // namespace detail

void add_ones(float* y, size_t n, cudaStream_t allocate, cudaStream_t compute, cudaEvent_t event)
{
    detail::Scratch<float> ones(n, allocate);
    detail::check(cudaMemsetAsync(ones.data(), 0, n * sizeof(float), allocate));
    detail::check(cudaEventRecord(event, allocate));
    detail::check(cudaStreamWaitEvent(compute, event, 0));
    detail::axpy<float><<<static_cast<unsigned>((n + 255) / 256), 256, 0, compute>>>(1.0f, ones.data(), y, n);
    detail::check(cudaGetLastError());
}
