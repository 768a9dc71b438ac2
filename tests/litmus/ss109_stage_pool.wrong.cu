// A pool of streams runs stages; a stage is told which stream made its input, and does not wait for it.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int count = 1 << 18;

__global__ void scale(float* data, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= by;
}

__global__ void offset(const float* in, float* out, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + by;
}

class StreamPool {
public:
    StreamPool()
    {
        for (Slot& slot : slots_) {
            CHECK(cudaStreamCreateWithFlags(&slot.stream, cudaStreamNonBlocking));
            CHECK(cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming));
        }
    }
    ~StreamPool()
    {
        for (Slot& slot : slots_) {
            cudaEventDestroy(slot.done);
            cudaStreamDestroy(slot.stream);
        }
    }
    int next() { return turn_++ % 3; }
    cudaStream_t stream(int slot) const { return slots_[slot].stream; }
    void finished(int slot) { CHECK(cudaEventRecord(slots_[slot].done, slots_[slot].stream)); }
    void after(int slot, int earlier) { CHECK(cudaStreamWaitEvent(slots_[slot].stream, slots_[earlier].done, 0)); }
    void drain()
    {
        for (Slot& slot : slots_) CHECK(cudaStreamSynchronize(slot.stream));
    }

private:
    struct Slot {
        cudaStream_t stream = nullptr;
        cudaEvent_t done = nullptr;
    };
    std::array<Slot, 3> slots_;
    int turn_ = 0;
};

template <typename T>
struct Buffer {
    T* data = nullptr;
    explicit Buffer(size_t n) { CHECK(cudaMalloc(&data, n * sizeof(T))); }
    ~Buffer() { cudaFree(data); }
    Buffer(const Buffer&) = delete;
};

int main()
{
    StreamPool pool;
    Buffer<float> a(count), b(count);
    const int blocks = (count + 255) / 256;

    int first = pool.next();
    CHECK(cudaMemsetAsync(a.data, 0, count * sizeof(float), pool.stream(first)));
    scale<<<blocks, 256, 0, pool.stream(first)>>>(a.data, 2.0f, count);
    pool.finished(first);

    int second = pool.next();
    offset<<<blocks, 256, 0, pool.stream(second)>>>(a.data, b.data, 1.0f, count);  // expect: SS109
    pool.finished(second);

    int third = pool.next();
    pool.after(third, second);
    scale<<<blocks, 256, 0, pool.stream(third)>>>(b.data, 0.5f, count);
    pool.drain();
    return 0;
}
