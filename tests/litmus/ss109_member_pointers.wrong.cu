// Steps of a pipeline are pointers to methods in a table; the table of the wrong program leaves the synchronising step out.
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

__global__ void advance(float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 0.1f * i;
}

__global__ void observe(const float* x, float* log, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) log[i] = x[i];
}

class Simulation {
public:
    Simulation()
    {
        CHECK(cudaStreamCreateWithFlags(&physics_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&logging_, cudaStreamNonBlocking));
        CHECK(cudaMalloc(&x_, n * sizeof(float)));
        CHECK(cudaMalloc(&log_, n * sizeof(float)));
        CHECK(cudaMemset(x_, 0, n * sizeof(float)));
        CHECK(cudaDeviceSynchronize());
    }
    ~Simulation()
    {
        cudaStreamSynchronize(logging_);
        cudaStreamSynchronize(physics_);
        cudaFree(log_);
        cudaFree(x_);
        cudaStreamDestroy(logging_);
        cudaStreamDestroy(physics_);
    }
    void run()
    {
        using Step = void (Simulation::*)();
        const Step steps[] = {&Simulation::move, &Simulation::record};
        for (Step step : steps) (this->*step)();
    }

private:
    void move() { advance<<<n / 256, 256, 0, physics_>>>(x_, n); }
    void settle() { CHECK(cudaStreamSynchronize(physics_)); }
    void record() { observe<<<n / 256, 256, 0, logging_>>>(x_, log_, n); }  // expect: SS109

    static constexpr int n = 1 << 14;
    cudaStream_t physics_, logging_;
    float *x_, *log_;
};

int main()
{
    Simulation simulation;
    simulation.run();
    return 0;
}
