// A graph built by hand allocates the buffer that the host frees only after the last launch.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

inline void require(cudaError_t status, const char *what)
{
    if (status != cudaSuccess) throw std::runtime_error(what);
}
#define REQUIRE(call) require((call), #call)

__global__ void simulate(double *cells, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) cells[i] = i * 0.5;
}

class Simulation {
public:
    explicit Simulation(int count) : count_(count)
    {
        REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        build();
    }
    ~Simulation()
    {
        cudaStreamSynchronize(stream_);
        cudaFree(cells_);
        cudaGraphExecDestroy(exec_);
        cudaGraphDestroy(graph_);
        cudaStreamDestroy(stream_);
    }
    void run() { REQUIRE(cudaGraphLaunch(exec_, stream_)); }  // expect: SS301

private:
    void build()
    {
        REQUIRE(cudaGraphCreate(&graph_, 0));

        cudaMemAllocNodeParams memory = {};
        memory.bytesize = count_ * sizeof(double);
        memory.poolProps.allocType = cudaMemAllocationTypePinned;
        memory.poolProps.location.type = cudaMemLocationTypeDevice;
        memory.poolProps.location.id = 0;
        cudaGraphNode_t allocate;
        REQUIRE(cudaGraphAddMemAllocNode(&allocate, graph_, nullptr, 0, &memory));
        cells_ = static_cast<double *>(memory.dptr);

        void *arguments[] = {&cells_, &count_};
        cudaKernelNodeParams kernel = {};
        kernel.func = reinterpret_cast<void *>(simulate);
        kernel.gridDim = dim3(128);
        kernel.blockDim = dim3(256);
        kernel.kernelParams = arguments;
        cudaGraphNode_t work;
        REQUIRE(cudaGraphAddKernelNode(&work, graph_, &allocate, 1, &kernel));

        REQUIRE(cudaGraphInstantiate(&exec_, graph_, 0));
    }

    int count_;
    double *cells_ = nullptr;
    cudaStream_t stream_ = nullptr;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
};

int main()
{
    Simulation simulation(1 << 16);
    for (int step = 0; step < 10; ++step) simulation.run();
    return 0;
}
