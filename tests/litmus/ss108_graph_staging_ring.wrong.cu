// The host fills a staging slot again while the launch that uploads it may still be under way.
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
constexpr int n = 1 << 12;

class StagingRing {
public:
    StagingRing()
    {
        CHECK(cudaStreamCreate(&stream_));
        CHECK(cudaMalloc(&device_, n * sizeof(float)));
        for (Slot &slot : slots_) {
            CHECK(cudaMallocHost(&slot.host, n * sizeof(float)));
            CHECK(cudaEventCreateWithFlags(&slot.uploaded, cudaEventDisableTiming));
            cudaGraph_t graph;
            CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
            CHECK(cudaMemcpyAsync(device_, slot.host, n * sizeof(float), cudaMemcpyHostToDevice, stream_));
            CHECK(cudaStreamEndCapture(stream_, &graph));
            CHECK(cudaGraphInstantiate(&slot.exec, graph, 0));
            CHECK(cudaGraphDestroy(graph));
        }
    }
    ~StagingRing()
    {
        cudaStreamSynchronize(stream_);
        for (Slot &slot : slots_) {
            cudaGraphExecDestroy(slot.exec);
            cudaEventDestroy(slot.uploaded);
            cudaFreeHost(slot.host);
        }
        cudaFree(device_);
        cudaStreamDestroy(stream_);
    }

    void push(float value)
    {
        Slot &slot = slots_[next_++ % slots];
        for (int i = 0; i < n; ++i) slot.host[i] = value;  // expect: SS108
        CHECK(cudaGraphLaunch(slot.exec, stream_));
        CHECK(cudaEventRecord(slot.uploaded, stream_));
    }

private:
    struct Slot {
        float *host;
        cudaEvent_t uploaded;
        cudaGraphExec_t exec;
    };
    cudaStream_t stream_;
    float *device_;
    Slot slots_[slots];
    int next_ = 0;
};

int main()
{
    StagingRing ring;
    for (int round = 0; round < 6; ++round) ring.push(static_cast<float>(round));
    return 0;
}
