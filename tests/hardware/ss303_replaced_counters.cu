// The counters are replaced between two launches; the graph goes on counting in the old ones.
// On hardware the table allocated next has their address, and the launch counts in the table.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        if (cudaError_t status = (call); status != cudaSuccess) {                               \
            std::printf("error: %s, line %d\n", cudaGetErrorString(status), __LINE__);          \
            std::exit(1);                                                                       \
        }                                                                                       \
    } while (0)

__global__ void count(int* counters, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) counters[i] += 1;
}

__global__ void tabulate(int* table, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) table[i] = 3 * i;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    const int n = 1 << 20;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    int *counters, *table;
    CHECK(cudaMalloc(&counters, n * sizeof(int)));
    CHECK(cudaMemsetAsync(counters, 0, n * sizeof(int), stream));

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    count<<<n / 256, 256, 0, stream>>>(counters, n);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaFree(counters));
    CHECK(cudaMalloc(&table, n * sizeof(int)));
    tabulate<<<n / 256, 256, 0, stream>>>(table, n);
    CHECK(cudaGraphLaunch(exec, stream));  // expect: SS303

    CHECK(cudaStreamSynchronize(stream));
    std::vector<int> host(n);
    CHECK(cudaMemcpy(host.data(), table, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(table));
    CHECK(cudaStreamDestroy(stream));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 3 * i;
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
