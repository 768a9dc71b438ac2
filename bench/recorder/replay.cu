// A loop that replays one executable graph of small kernels (REPLAYS ROUNDS KERNELS). Prints the microseconds of one replay: the
// least of some rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "check.cuh"

__global__ void step(float* data, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = data[i] * 0.5f + 1.0f;
}

int main(int argc, char** argv)
{
    const int replays = argc > 1 ? std::atoi(argv[1]) : 10000;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
    const int kernels = argc > 3 ? std::atoi(argv[3]) : 100;
    const int n = 1 << 16;
    float* data = nullptr;
    cudaStream_t stream;
    CHECK(cudaMalloc(&data, n * sizeof(float)));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemsetAsync(data, 0, n * sizeof(float), stream));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < kernels; ++i) step<<<n / 256, 256, 0, stream>>>(data, n);
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
