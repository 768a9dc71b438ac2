// A graph leaves its result allocated; another stream waits for the launch, reads it, and hands it back to be freed.
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

__global__ void produce(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}

__global__ void consume(const int *in, int *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, in[i]);
}

int main()
{
    const int n = 1 << 14;
    cudaStream_t producer, consumer;
    CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    cudaEvent_t ready, read;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
    int *sum;
    CHECK(cudaMalloc(&sum, sizeof(int)));
    CHECK(cudaMemset(sum, 0, sizeof(int)));
    CHECK(cudaDeviceSynchronize());

    int *result;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(producer, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&result, n * sizeof(int), producer));
    produce<<<n / 256, 256, 0, producer>>>(result, n);
    CHECK(cudaStreamEndCapture(producer, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    CHECK(cudaGraphLaunch(exec, producer));
    CHECK(cudaEventRecord(ready, producer));
    CHECK(cudaStreamWaitEvent(consumer, ready, 0));
    consume<<<n / 256, 256, 0, consumer>>>(result, sum, n);
    CHECK(cudaEventRecord(read, consumer));
    CHECK(cudaStreamWaitEvent(producer, read, 0));
    CHECK(cudaFreeAsync(result, producer));

    CHECK(cudaStreamSynchronize(producer));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(read));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(consumer));
    CHECK(cudaStreamDestroy(producer));
    CHECK(cudaFree(sum));
    return 0;
}
