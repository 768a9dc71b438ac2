// Each worker has a stream of its own, in a vector of wrappers: what one wrote another reads, and nothing orders them.
#include <cuda_runtime.h>
#include <utility>
#include <vector>

class Stream {
public:
    Stream() { cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking); }
    Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Stream& operator=(Stream&&) = delete;
    ~Stream()
    {
        if (handle_) cudaStreamDestroy(handle_);
    }
    operator cudaStream_t() const { return handle_; }

private:
    cudaStream_t handle_ = nullptr;
};

__global__ void stage(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.5f * in[i];
}

class Pipeline {
public:
    Pipeline(int workers, int n) : streams_(workers), n_(n)
    {
        cudaMalloc(&a_, n * sizeof(float));
        cudaMalloc(&b_, n * sizeof(float));
        cudaMemset(a_, 0, n * sizeof(float));
    }
    ~Pipeline()
    {
        cudaDeviceSynchronize();
        cudaFree(b_);
        cudaFree(a_);
    }

    void step(float* pinned)
    {
        const int blocks = (n_ + 127) / 128;
        stage<<<blocks, 128, 0, streams_[0]>>>(a_, b_, n_);
        cudaMemcpyAsync(pinned, b_, n_ * sizeof(float), cudaMemcpyDeviceToHost, streams_[1]);  // expect: SS109
        cudaStreamSynchronize(streams_[1]);
    }

private:
    std::vector<Stream> streams_;
    float* a_ = nullptr;
    float* b_ = nullptr;
    int n_;
};
