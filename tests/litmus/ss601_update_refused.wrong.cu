// The new graph has one node more, so the update is refused: nobody looks, and the old graph runs again.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

__global__ void add(float *data, float value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += value;
}

static cudaGraph_t capture(cudaStream_t stream, float *data, int n, int layers)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int layer = 0; layer < layers; ++layer) add<<<n / 256, 256, 0, stream>>>(data, layer, n);
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

int main()
{
    const int n = 1 << 16;
    float *data;
    CHECK(cudaMalloc(&data, n * sizeof(float)));
    CHECK(cudaMemset(data, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    cudaGraphExec_t exec = nullptr;
    for (int layers = 2; layers <= 3; ++layers) {
        cudaGraph_t graph = capture(stream, data, n, layers);
        if (exec != nullptr) {
            cudaGraphExecUpdateResultInfo info;
            cudaGraphExecUpdate(exec, graph, &info);  // expect: SS601
        }
        if (exec == nullptr) CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    return 0;
}
