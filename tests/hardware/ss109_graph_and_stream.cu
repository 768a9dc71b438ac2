// A captured step writes the state; the snapshot for the display is taken in another stream, right after the launch.
// On hardware the step is delayed inside the graph, and the snapshot shows the state of the step before.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                                         \
    do {                                                                                         \
        const cudaError_t status = call;                                                         \
        if (status != cudaSuccess) {                                                             \
            printf("error: %s (%s:%d)\n", cudaGetErrorString(status), __FILE__, __LINE__);       \
            exit(EXIT_FAILURE);                                                                  \
        }                                                                                        \
    } while (0)

__global__ void collide(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void step(int *state, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) state[i] += 1;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(int);
    cudaStream_t simulation, display;
    CUDA_CHECK(cudaStreamCreateWithFlags(&simulation, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&display, cudaStreamNonBlocking));
    int *state, *snapshot;
    CUDA_CHECK(cudaMalloc(&state, bytes));
    CUDA_CHECK(cudaMalloc(&snapshot, bytes));
    CUDA_CHECK(cudaMemsetAsync(state, 0, bytes, simulation));
    CUDA_CHECK(cudaStreamSynchronize(simulation));

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA_CHECK(cudaStreamBeginCapture(simulation, cudaStreamCaptureModeThreadLocal));
    collide<<<1, 1, 0, simulation>>>(100'000'000);
    step<<<n / 256, 256, 0, simulation>>>(state, n);
    CUDA_CHECK(cudaStreamEndCapture(simulation, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));

    CUDA_CHECK(cudaGraphLaunch(exec, simulation));
    CUDA_CHECK(cudaMemcpyAsync(snapshot, state, bytes, cudaMemcpyDeviceToDevice, display));  // expect: SS109

    CUDA_CHECK(cudaStreamSynchronize(display));
    CUDA_CHECK(cudaStreamSynchronize(simulation));
    std::vector<int> host(n);
    CUDA_CHECK(cudaMemcpy(host.data(), snapshot, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaGraphExecDestroy(exec));
    CUDA_CHECK(cudaGraphDestroy(graph));
    CUDA_CHECK(cudaFree(snapshot));
    CUDA_CHECK(cudaFree(state));
    CUDA_CHECK(cudaStreamDestroy(display));
    CUDA_CHECK(cudaStreamDestroy(simulation));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 1;
    printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
