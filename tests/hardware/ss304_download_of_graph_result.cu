// A graph leaves its result allocated; it is downloaded in another stream, without waiting for the launch.
// On hardware the graph is delayed, and the copy reads what the memory held before.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                           \
    do {                                                                                      \
        const cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                          \
            std::printf("error: %s in %s\n", cudaGetErrorName(status), #call);                \
            std::exit(1);                                                                     \
        }                                                                                     \
    } while (false)

__global__ void iterate(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void store(unsigned* result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) result[i] = 0x5eed0000u + i;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(unsigned);
    cudaStream_t compute, copies;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    cudaEvent_t copied;
    CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
    unsigned* host = nullptr;
    CHECK(cudaMallocHost(&host, bytes));

    unsigned* result = nullptr;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(compute, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&result, bytes, compute));
    iterate<<<1, 1, 0, compute>>>(100'000'000);
    store<<<n / 256, 256, 0, compute>>>(result, n);
    CHECK(cudaStreamEndCapture(compute, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    CHECK(cudaGraphLaunch(exec, compute));
    CHECK(cudaMemcpyAsync(host, result, bytes, cudaMemcpyDeviceToHost, copies));  // expect: SS304
    CHECK(cudaEventRecord(copied, copies));
    CHECK(cudaStreamWaitEvent(compute, copied, 0));
    CHECK(cudaFreeAsync(result, compute));
    CHECK(cudaStreamSynchronize(compute));

    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 0x5eed0000u + i;
    std::printf("wrong words: %d\n", wrong);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(copied));
    CHECK(cudaFreeHost(host));
    CHECK(cudaStreamDestroy(copies));
    CHECK(cudaStreamDestroy(compute));
    return wrong != 0;
}
