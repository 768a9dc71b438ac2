// Observers are std::functions in a list; one of them works on its own stream and is told the publisher's event, or not.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

struct Frame {
    float* data;
    int size;
    cudaEvent_t ready;
};

class Publisher {
public:
    void subscribe(std::function<void(const Frame&)> observer) { observers_.push_back(std::move(observer)); }
    void publish(const Frame& frame) const
    {
        for (const auto& observer : observers_) observer(frame);
    }

private:
    std::vector<std::function<void(const Frame&)>> observers_;
};

__global__ void draw(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 0.01f * i;
}

__global__ void measure(const float* p, float* sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, p[i]);
}

int main()
{
    Frame frame{nullptr, 1 << 14, nullptr};
    float* sum;
    cudaStream_t drawing, measuring;
    CHECK(cudaStreamCreateWithFlags(&drawing, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&measuring, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&frame.ready, cudaEventDisableTiming));
    CHECK(cudaMalloc((void**)&frame.data, frame.size * sizeof(float)));
    CHECK(cudaMalloc((void**)&sum, sizeof(float)));
    CHECK(cudaMemset(sum, 0, sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    Publisher publisher;
    publisher.subscribe([&](const Frame& seen) {
        CHECK(cudaStreamWaitEvent(measuring, seen.ready, 0));
        measure<<<seen.size / 256, 256, 0, measuring>>>(seen.data, sum, seen.size);
    });
    draw<<<frame.size / 256, 256, 0, drawing>>>(frame.data, frame.size);
    CHECK(cudaEventRecord(frame.ready, drawing));
    publisher.publish(frame);
    CHECK(cudaStreamSynchronize(drawing));
    CHECK(cudaStreamSynchronize(measuring));
    CHECK(cudaFree(sum));
    CHECK(cudaFree(frame.data));
    CHECK(cudaEventDestroy(frame.ready));
    CHECK(cudaStreamDestroy(measuring));
    CHECK(cudaStreamDestroy(drawing));
    return 0;
}
