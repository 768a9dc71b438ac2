// An enum class names the queue; a switch picks its stream. The result is read from the urgent one, made on the other.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

enum class Queue : unsigned char { background, urgent };

class Queues {
public:
    Queues()
    {
        int least, greatest;
        CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
        CHECK(cudaStreamCreateWithPriority(&background_, cudaStreamNonBlocking, least));
        CHECK(cudaStreamCreateWithPriority(&urgent_, cudaStreamNonBlocking, greatest));
    }
    ~Queues()
    {
        cudaStreamSynchronize(background_);
        cudaStreamSynchronize(urgent_);
        cudaStreamDestroy(background_);
        cudaStreamDestroy(urgent_);
    }
    cudaStream_t operator[](Queue queue) const
    {
        switch (queue) {
        case Queue::background: return background_;
        case Queue::urgent: return urgent_;
        }
        return nullptr;
    }

private:
    cudaStream_t background_, urgent_;
};

__global__ void simulate(double* state, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) state[i] = 1.0 / (1 + i);
}

__global__ void extract(const double* state, float* picture, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) picture[i] = float(state[i]);
}

int main()
{
    const int n = 1 << 14;
    double* state;
    float* picture;
    CHECK(cudaMalloc(&state, n * sizeof(double)));
    CHECK(cudaMalloc(&picture, n * sizeof(float)));
    {
        Queues queues;
        simulate<<<n / 256, 256, 0, queues[Queue::background]>>>(state, n);
        extract<<<n / 256, 256, 0, queues[Queue::urgent]>>>(state, picture, n);  // expect: SS109
    }
    CHECK(cudaFree(picture));
    CHECK(cudaFree(state));
    return 0;
}
