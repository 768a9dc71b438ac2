// Jacobi steps with two grids that are swapped; the residual of the front grid is taken on a side stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void jacobi(const float* from, float* to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = 0.5f * (from[i] + from[i > 0 ? i - 1 : i]);
}

__global__ void residual(const float* grid, float* norm, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(norm, grid[i] * grid[i]);
}

class Solver {
public:
    explicit Solver(int n) : n_(n)
    {
        CHECK(cudaMalloc(&front_, n_ * sizeof(float)));
        CHECK(cudaMalloc(&back_, n_ * sizeof(float)));
        CHECK(cudaMalloc(&norm_, sizeof(float)));
        CHECK(cudaMemset(front_, 60, n_ * sizeof(float)));
        CHECK(cudaMemset(norm_, 0, sizeof(float)));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&stepped_, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&measured_, cudaEventDisableTiming));
    }
    ~Solver()
    {
        cudaStreamSynchronize(main_);
        cudaStreamSynchronize(side_);
        for (float* p : {front_, back_, norm_}) cudaFree(p);
        cudaEventDestroy(measured_);
        cudaEventDestroy(stepped_);
        cudaStreamDestroy(side_);
        cudaStreamDestroy(main_);
    }
    void step()
    {
        jacobi<<<n_ / 256, 256, 0, main_>>>(front_, back_, n_);  // expect: SS109
        std::swap(front_, back_);
    }
    void measure()
    {
        CHECK(cudaEventRecord(stepped_, main_));
        CHECK(cudaStreamWaitEvent(side_, stepped_, 0));
        residual<<<n_ / 256, 256, 0, side_>>>(front_, norm_, n_);
        CHECK(cudaEventRecord(measured_, side_));
    }

private:
    int n_;
    float *front_, *back_, *norm_;
    cudaStream_t main_, side_;
    cudaEvent_t stepped_, measured_;
};

int main()
{
    Solver solver(1 << 16);
    for (int i = 0; i < 4; ++i) {
        solver.step();
        if (i % 2 == 1) solver.measure();
        solver.step();
    }
    return 0;
}
