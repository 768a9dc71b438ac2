// A field in managed memory is advanced on one stream and saved from another, without an order between the two.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int cells = 4096;

__global__ void advance(float* field, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) field[i] += dt;
}

class Simulation {
public:
    Simulation()
    {
        CHECK(cudaMallocManaged(&field_, cells * sizeof(float)));
        CHECK(cudaMallocHost(&saved_, cells * sizeof(float)));
        for (cudaStream_t* stream : {&compute_, &io_}) CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&stepped_, cudaEventDisableTiming));
        for (int i = 0; i < cells; ++i) field_[i] = 0.0f;
    }
    ~Simulation()
    {
        cudaEventDestroy(stepped_);
        cudaStreamDestroy(io_);
        cudaStreamDestroy(compute_);
        cudaFreeHost(saved_);
        cudaFree(field_);
    }
    void step(float dt)
    {
        advance<<<cells / 256, 256, 0, compute_>>>(field_, dt, cells);
        CHECK(cudaEventRecord(stepped_, compute_));
    }
    void save()
    {
        CHECK(cudaMemcpyAsync(saved_, field_, cells * sizeof(float), cudaMemcpyDefault, io_));  // expect: SS109
    }
    float finish()
    {
        CHECK(cudaStreamSynchronize(io_));
        CHECK(cudaStreamSynchronize(compute_));
        return saved_[0];
    }

private:
    float *field_ = nullptr, *saved_ = nullptr;
    cudaStream_t compute_ = nullptr, io_ = nullptr;
    cudaEvent_t stepped_ = nullptr;
};

int main()
{
    Simulation simulation;
    simulation.step(0.1f);
    simulation.save();
    std::printf("%g\n", simulation.finish());
    return 0;
}
