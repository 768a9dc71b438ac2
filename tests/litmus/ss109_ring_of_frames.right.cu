// A ring of frames by modulo: a slot is uploaded into again before the kernel of its last turn has read it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

template <int Slots>
class FrameRing {
public:
    explicit FrameRing(std::size_t bytes) : bytes_(bytes)
    {
        CHECK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        for (int i = 0; i < Slots; ++i) {
            CHECK(cudaMalloc(&slot_[i], bytes_));
            CHECK(cudaEventCreateWithFlags(&uploaded_[i], cudaEventDisableTiming));
            CHECK(cudaEventCreateWithFlags(&consumed_[i], cudaEventDisableTiming));
        }
    }
    ~FrameRing()
    {
        cudaStreamSynchronize(copy_);
        cudaStreamSynchronize(compute_);
        for (int i = 0; i < Slots; ++i) {
            cudaFree(slot_[i]);
            cudaEventDestroy(uploaded_[i]);
            cudaEventDestroy(consumed_[i]);
        }
        cudaStreamDestroy(copy_);
        cudaStreamDestroy(compute_);
    }
    template <typename Kernel>
    void push(const void* frame, Kernel&& kernel)
    {
        const int i = next_++ % Slots;
        CHECK(cudaStreamWaitEvent(copy_, consumed_[i], 0));
        CHECK(cudaMemcpyAsync(slot_[i], frame, bytes_, cudaMemcpyDeviceToDevice, copy_));
        CHECK(cudaEventRecord(uploaded_[i], copy_));
        CHECK(cudaStreamWaitEvent(compute_, uploaded_[i], 0));
        kernel(slot_[i], compute_);
        CHECK(cudaEventRecord(consumed_[i], compute_));
    }

private:
    std::size_t bytes_;
    void* slot_[Slots] = {};
    cudaEvent_t uploaded_[Slots], consumed_[Slots];
    cudaStream_t copy_, compute_;
    unsigned next_ = 0;
};

__global__ void brightness(const unsigned char* frame, unsigned* sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, frame[i]);
}

int main()
{
    const int n = 1 << 16, frames = 8;
    unsigned char* source;
    unsigned* sum;
    CHECK(cudaMalloc(&source, frames * n));
    CHECK(cudaMalloc(&sum, sizeof(unsigned)));
    for (int frame = 0; frame < frames; ++frame) CHECK(cudaMemset(source + frame * n, frame, n));
    CHECK(cudaMemset(sum, 0, sizeof(unsigned)));
    CHECK(cudaDeviceSynchronize());
    {
        FrameRing<3> ring(n);
        for (int frame = 0; frame < frames; ++frame)
            ring.push(source + frame * n, [=](void* slot, cudaStream_t stream) {
                brightness<<<n / 256, 256, 0, stream>>>(static_cast<unsigned char*>(slot), sum, n);
            });
    }
    CHECK(cudaFree(sum));
    CHECK(cudaFree(source));
    return 0;
}
