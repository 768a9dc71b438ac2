// A ring of two slots: a producer's graph fills a slot while the consumer's graph still reads it from the round before.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                               \
    do {                                                                                          \
        const cudaError_t status_ = (call);                                                       \
        if (status_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                              \
        }                                                                                         \
    } while (0)

constexpr int slots = 2;

__global__ void produce(float *slot, int n, float value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) slot[i] = value;
}

__global__ void consume(const float *slot, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] += slot[i];
}

struct Slot {
    float *data = nullptr;
    cudaGraphExec_t fills = nullptr, drains = nullptr;
    cudaEvent_t full = nullptr, empty = nullptr;
};

template <class Issue>
static cudaGraphExec_t graph_of(cudaStream_t stream, Issue issue)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    issue();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

int main()
{
    const int n = 1 << 14;
    cudaStream_t producer, consumer;
    CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    float *sum;
    CHECK(cudaMalloc(&sum, n * sizeof(float)));
    CHECK(cudaMemset(sum, 0, n * sizeof(float)));
    Slot ring[slots];
    for (Slot &slot : ring) {
        CHECK(cudaMalloc(&slot.data, n * sizeof(float)));
        CHECK(cudaEventCreateWithFlags(&slot.full, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&slot.empty, cudaEventDisableTiming));
        slot.fills = graph_of(producer, [&] { produce<<<n / 256, 256, 0, producer>>>(slot.data, n, 1.0f); });
        slot.drains = graph_of(consumer, [&] { consume<<<n / 256, 256, 0, consumer>>>(slot.data, sum, n); });
    }
    CHECK(cudaDeviceSynchronize());

    for (int round = 0; round < 6; ++round) {
        Slot &slot = ring[round % slots];
        CHECK(cudaGraphLaunch(slot.fills, producer));  // expect: SS109
        CHECK(cudaEventRecord(slot.full, producer));
        CHECK(cudaStreamWaitEvent(consumer, slot.full, 0));
        CHECK(cudaGraphLaunch(slot.drains, consumer));
        CHECK(cudaEventRecord(slot.empty, consumer));
    }
    CHECK(cudaDeviceSynchronize());

    for (Slot &slot : ring) {
        CHECK(cudaGraphExecDestroy(slot.fills));
        CHECK(cudaGraphExecDestroy(slot.drains));
        CHECK(cudaEventDestroy(slot.full));
        CHECK(cudaEventDestroy(slot.empty));
        CHECK(cudaFree(slot.data));
    }
    CHECK(cudaFree(sum));
    CHECK(cudaStreamDestroy(consumer));
    CHECK(cudaStreamDestroy(producer));
    return 0;
}
