// A copy stream owns the buffer, a compute stream reads it. RAII handles for both.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(expr)                                                          \
    {                                                                             \
        cudaError_t result = (expr);                                              \
        if (result != cudaSuccess) {                                              \
            fprintf(stderr, "CUDA failure %s at %d\n", cudaGetErrorString(result), __LINE__); \
            abort();                                                              \
        }                                                                         \
    }

class Stream {
public:
    Stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamDestroy(handle_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator cudaStream_t() const { return handle_; }
    void synchronize() const { CUDA_CHECK(cudaStreamSynchronize(handle_)); }

private:
    cudaStream_t handle_ = nullptr;
};

class Event {
public:
    Event() { CUDA_CHECK(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming)); }
    ~Event() { cudaEventDestroy(handle_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record(cudaStream_t stream) { CUDA_CHECK(cudaEventRecord(handle_, stream)); }
    void block(cudaStream_t stream) { CUDA_CHECK(cudaStreamWaitEvent(stream, handle_, 0)); }

private:
    cudaEvent_t handle_ = nullptr;
};

__global__ void histogram(const unsigned char* pixels, unsigned int* bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[pixels[i]], 1u);
}

int main()
{
    const int n = 1920 * 1080;
    std::vector<unsigned char> image(n, 7);
    std::vector<unsigned int> totals(256);

    Stream copy;
    Stream compute;
    Event uploaded;
    Event consumed;

    unsigned char* pixels;
    unsigned int* bins;
    CUDA_CHECK(cudaMalloc(&bins, 256 * sizeof(unsigned int)));
    CUDA_CHECK(cudaMemsetAsync(bins, 0, 256 * sizeof(unsigned int), compute));

    CUDA_CHECK(cudaMallocAsync(&pixels, n, copy));
    CUDA_CHECK(cudaMemcpyAsync(pixels, image.data(), n, cudaMemcpyHostToDevice, copy));
    uploaded.record(copy);
    uploaded.block(compute);

    histogram<<<(n + 255) / 256, 256, 0, compute>>>(pixels, bins, n);
    CUDA_CHECK(cudaGetLastError());
    consumed.record(compute);
    consumed.block(copy);
    CUDA_CHECK(cudaFreeAsync(pixels, copy));

    compute.synchronize();
    CUDA_CHECK(cudaMemcpy(totals.data(), bins, 256 * sizeof(unsigned int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(bins));
    copy.synchronize();
    std::printf("%u\n", totals[7]);
    return 0;
}
