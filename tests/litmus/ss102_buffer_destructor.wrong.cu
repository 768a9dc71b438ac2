// A stream-ordered RAII buffer frees itself in the order of the stream that made it,
// whichever stream used it last.
#include <cuda_runtime.h>
#include <cstdio>
#include <stdexcept>

#define CUDA_THROW(expr)                                                   \
    do {                                                                   \
        const cudaError_t code = (expr);                                   \
        if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code)); \
    } while (0)

template <typename T>
class DeviceBuffer {
public:
    DeviceBuffer(std::size_t count, cudaStream_t stream) : stream_(stream)
    {
        CUDA_THROW(cudaMallocAsync(reinterpret_cast<void**>(&data_), count * sizeof(T), stream));
    }
    ~DeviceBuffer()
    {
        if (data_ != nullptr) cudaFreeAsync(data_, stream_);  // expect: SS102
    }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    T* data() { return data_; }
    const T* data() const { return data_; }
    void used_on(cudaStream_t stream) { stream_ = stream; }

private:
    T* data_ = nullptr;
    cudaStream_t stream_;
};

__global__ void square(float* values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= values[i];
}

void run(cudaStream_t upload, cudaStream_t compute, cudaEvent_t ready, int n)
{
    DeviceBuffer<float> values(n, upload);
    CUDA_THROW(cudaMemsetAsync(values.data(), 0, n * sizeof(float), upload));
    CUDA_THROW(cudaEventRecord(ready, upload));
    CUDA_THROW(cudaStreamWaitEvent(compute, ready));
    square<<<(n + 127) / 128, 128, 0, compute>>>(values.data(), n);
    CUDA_THROW(cudaGetLastError());
}

int main()
{
    try {
        cudaStream_t upload, compute;
        cudaEvent_t ready;
        CUDA_THROW(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
        CUDA_THROW(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
        CUDA_THROW(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
        run(upload, compute, ready, 1 << 20);
        CUDA_THROW(cudaDeviceSynchronize());
        CUDA_THROW(cudaEventDestroy(ready));
        CUDA_THROW(cudaStreamDestroy(compute));
        CUDA_THROW(cudaStreamDestroy(upload));
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
    return 0;
}
