// A planner's graph allocates the plan; the executor's stream starts on it as soon as the graph is launched.
// On hardware the planner is delayed, and the executor follows what the memory held before.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

inline void require(cudaError_t status)
{
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorName(status));
}

__global__ void search(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void write_plan(short* plan, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) plan[i] = static_cast<short>(i % 1000 + 1);
}

__global__ void follow(const short* plan, int* steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) steps[i] = 10 * plan[i];
}

class Planner {
public:
    explicit Planner(int n)
    {
        require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
        require(cudaMallocAsync(&plan_, n * sizeof(short), stream_));
        search<<<1, 1, 0, stream_>>>(100'000'000);
        write_plan<<<n / 256, 256, 0, stream_>>>(plan_, n);
        cudaGraph_t graph;
        require(cudaStreamEndCapture(stream_, &graph));
        require(cudaGraphInstantiate(&exec_, graph, 0));
        require(cudaGraphDestroy(graph));
    }
    ~Planner()
    {
        cudaGraphExecDestroy(exec_);
        cudaStreamDestroy(stream_);
    }
    const short* run()
    {
        require(cudaGraphLaunch(exec_, stream_));
        return plan_;
    }
    void release_after(cudaEvent_t used)
    {
        require(cudaStreamWaitEvent(stream_, used, 0));
        require(cudaFreeAsync(plan_, stream_));
        require(cudaStreamSynchronize(stream_));
    }

private:
    short* plan_ = nullptr;
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
};

static int run()
{
    const int n = 1 << 20;
    cudaStream_t executor;
    require(cudaStreamCreateWithFlags(&executor, cudaStreamNonBlocking));
    cudaEvent_t followed;
    require(cudaEventCreateWithFlags(&followed, cudaEventDisableTiming));
    int* steps = nullptr;
    require(cudaMalloc(&steps, n * sizeof(int)));
    Planner planner(n);

    const short* plan = planner.run();
    follow<<<n / 256, 256, 0, executor>>>(plan, steps, n);  // expect: SS304
    require(cudaEventRecord(followed, executor));
    planner.release_after(followed);

    std::vector<int> host(n);
    require(cudaMemcpy(host.data(), steps, n * sizeof(int), cudaMemcpyDeviceToHost));
    require(cudaFree(steps));
    require(cudaEventDestroy(followed));
    require(cudaStreamDestroy(executor));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 10 * (i % 1000 + 1);
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    try {
        return run();
    } catch (const std::runtime_error& error) {
        std::printf("error: %s\n", error.what());
        return 1;
    }
}
