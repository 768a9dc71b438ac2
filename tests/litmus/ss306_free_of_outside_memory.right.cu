// A buffer from outside is released after the capture, in stream order.
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

__global__ void finish(float *data, float *result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) result[i] = data[i] + 1.0f;
}

struct Task {
    float *data;
    float *result;
    int n;
};

static void complete(Task &task, cudaStream_t stream)
{
    finish<<<task.n / 128, 128, 0, stream>>>(task.data, task.result, task.n);
}

int main()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Task task = {nullptr, nullptr, 1 << 15};
    CHECK(cudaMallocAsync(&task.data, task.n * sizeof(float), stream));
    CHECK(cudaMallocAsync(&task.result, task.n * sizeof(float), stream));
    CHECK(cudaMemsetAsync(task.data, 0, task.n * sizeof(float), stream));

    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    complete(task, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));

    CHECK(cudaFreeAsync(task.data, stream));
    CHECK(cudaFreeAsync(task.result, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
