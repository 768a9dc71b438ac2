// A class makes two streams; a method that is called on its own uploads on the one and computes on the other.
#include <cuda_runtime.h>
#include <stdexcept>
#include <vector>

#define CUDA_OK(call)                                                                          \
    do {                                                                                       \
        cudaError_t status_ = (call);                                                          \
        if (status_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status_));     \
    } while (0)

__global__ void normalise(float* x, int n, float mean)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] -= mean;
}

class Frames {
public:
    explicit Frames(int n) : n_(n)
    {
        CUDA_OK(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
        CUDA_OK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        CUDA_OK(cudaMalloc(&frame_, n * sizeof(float)));
    }
    Frames(const Frames&) = delete;
    Frames& operator=(const Frames&) = delete;
    ~Frames()
    {
        cudaDeviceSynchronize();
        cudaFree(frame_);
        cudaStreamDestroy(compute_);
        cudaStreamDestroy(upload_);
    }

    void push(const float* pinned, float mean)
    {
        CUDA_OK(cudaMemcpyAsync(frame_, pinned, n_ * sizeof(float), cudaMemcpyHostToDevice, upload_));
        normalise<<<(n_ + 255) / 256, 256, 0, compute_>>>(frame_, n_, mean);  // expect: SS109
        CUDA_OK(cudaGetLastError());
        CUDA_OK(cudaStreamSynchronize(compute_));
    }

private:
    cudaStream_t upload_ = nullptr;
    cudaStream_t compute_ = nullptr;
    float* frame_ = nullptr;
    int n_;
};
