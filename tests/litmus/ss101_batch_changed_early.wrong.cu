// Changing the batch size gives the old activations back, and also sets the size that the next step computes with.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

constexpr int kSmall = 1 << 10, kLarge = 1 << 12;

__global__ void forward_kernel(float* activations, float bias, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) activations[i] = activations[i] * 0.5f + bias;
}

class Model {
public:
    explicit Model(int batch)
    {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        set_batch(batch);
        reserve();
    }
    ~Model()
    {
        if (activations_) cudaFreeAsync(activations_, stream_);
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    void set_batch(int batch)
    {
        if (activations_) CHECK(cudaFreeAsync(activations_, stream_));
        batch_ = batch;
        bias_ = 1.0f / batch;
    }
    void reserve()
    {
        CHECK(cudaMallocAsync(&activations_, batch_ * sizeof(float), stream_));
        CHECK(cudaMemsetAsync(activations_, 0, batch_ * sizeof(float), stream_));
    }
    void forward() { forward_kernel<<<kSmall / 256, 256, 0, stream_>>>(activations_, bias_, kSmall); }  // expect: SS101

private:
    cudaStream_t stream_ = nullptr;
    float* activations_ = nullptr;
    float bias_ = 0;
    int batch_ = 0;
};

int main()
{
    Model model(kSmall);
    model.forward();
    model.set_batch(kLarge);
    model.forward();
    model.reserve();
    return 0;
}
