// A loop that replays one executable graph of 20 small kernels. Prints the microseconds of one replay: the least of some rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        const cudaError_t status = (call);                                                   \
        if (status != cudaSuccess) {                                                         \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));     \
            std::exit(1);                                                                    \
        }                                                                                    \
    } while (0)

__global__ void step(float* data, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = data[i] * 0.5f + 1.0f;
}

int main(int argc, char** argv)
{
    const int replays = argc > 1 ? std::atoi(argv[1]) : 20000;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
    const int n = 1 << 16;
    float* data = nullptr;
    cudaStream_t stream;
    CHECK(cudaMalloc(&data, n * sizeof(float)));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemsetAsync(data, 0, n * sizeof(float), stream));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 20; ++i) step<<<n / 256, 256, 0, stream>>>(data, n);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    double least = 1e9;
    for (int round = 0; round < rounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < replays; ++i) CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        least = std::min(least, took.count() / replays);
    }
    std::printf("%.4f\n", least);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    return 0;
}
