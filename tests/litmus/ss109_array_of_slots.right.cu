// A ring of slots whose number is a constant of the class; a method picks the half of a slot. The kernel of a slot's last turn
// may still read it when the next upload comes.
#include <cuda_runtime.h>
#include <array>
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

constexpr int kSamples = 1 << 12;
constexpr int kTurns = 9;

__global__ void sum(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] += in[i];
}

struct Slot {
    float *device = nullptr;
    cudaEvent_t read{};
    Slot()
    {
        CHECK(cudaMalloc(&device, 2 * kSamples * sizeof(float)));
        CHECK(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
    }
    ~Slot()
    {
        cudaEventDestroy(read);
        cudaFree(device);
    }
    float *half(int which) const { return device + which * kSamples; }
};

class Ring {
public:
    Ring()
    {
        CHECK(cudaMallocHost(&host_, kTurns * kSamples * sizeof(float)));
        CHECK(cudaMalloc(&total_, kSamples * sizeof(float)));
        CHECK(cudaMemset(total_, 0, kSamples * sizeof(float)));
        CHECK(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&there_, cudaEventDisableTiming));
        CHECK(cudaDeviceSynchronize());
    }
    ~Ring()
    {
        cudaEventDestroy(there_);
        cudaStreamDestroy(upload_);
        cudaStreamDestroy(compute_);
        cudaFreeHost(host_);
        cudaFree(total_);
    }
    void turn(int number)
    {
        Slot &slot = slots_[number % kSlots];
        float *place = slot.half(1);
        CHECK(cudaStreamWaitEvent(upload_, slot.read, 0));
        CHECK(cudaMemcpyAsync(place, host_ + number * kSamples, kSamples * sizeof(float), cudaMemcpyHostToDevice, upload_));
        CHECK(cudaEventRecord(there_, upload_));
        CHECK(cudaStreamWaitEvent(compute_, there_, 0));
        sum<<<kSamples / 256, 256, 0, compute_>>>(place, total_);
        CHECK(cudaEventRecord(slot.read, compute_));
    }
    void finish() { CHECK(cudaDeviceSynchronize()); }

private:
    static constexpr int kSlots = 3;
    std::array<Slot, kSlots> slots_;
    float *host_ = nullptr, *total_ = nullptr;
    cudaStream_t upload_{}, compute_{};
    cudaEvent_t there_{};
};

int main()
{
    Ring ring;
    for (int i = 0; i < kTurns; ++i) ring.turn(i);
    ring.finish();
    return 0;
}
