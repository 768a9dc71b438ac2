// The parameters of the next step are written into managed memory while the kernel of this step still reads them.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int particles = 1 << 14;

constexpr int coefficients = 32;

__global__ void move(float* positions, const float* parameters, int n)
{
    const float dt = parameters[0];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) positions[i] += dt * parameters[i % coefficients];
}

class Solver {
public:
    Solver()
    {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&moved_, cudaEventDisableTiming));
        CHECK(cudaMalloc(&positions_, particles * sizeof(float)));
        CHECK(cudaMallocManaged(&parameters_, coefficients * sizeof(float)));
        CHECK(cudaMemsetAsync(positions_, 0, particles * sizeof(float), stream_));
        CHECK(cudaStreamSynchronize(stream_));
    }
    ~Solver()
    {
        cudaFree(parameters_);
        cudaFree(positions_);
        cudaEventDestroy(moved_);
        cudaStreamDestroy(stream_);
    }
    void configure(float dt)
    {
        for (int i = 0; i < coefficients; ++i) parameters_[i] = dt / (i + 1);  // expect: SS108
    }
    void step()
    {
        move<<<particles / 256, 256, 0, stream_>>>(positions_, parameters_, particles);
        CHECK(cudaEventRecord(moved_, stream_));
    }
    void wait() { CHECK(cudaEventSynchronize(moved_)); }

private:
    cudaStream_t stream_ = nullptr;
    cudaEvent_t moved_ = nullptr;
    float *positions_ = nullptr, *parameters_ = nullptr;
};

int main()
{
    Solver solver;
    solver.configure(0.1f);
    solver.step();
    solver.configure(0.2f);
    solver.step();
    solver.wait();
    return 0;
}
