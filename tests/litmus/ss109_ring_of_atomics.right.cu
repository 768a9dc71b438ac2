// A thread uploads frames and hands them on by a ring of atomics; each waits for what the other one's stream does with a slot.
#include <cuda_runtime.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int pixels = 1 << 16, slots = 2, frames = 6;

__global__ void sum(const unsigned char* frame, unsigned* total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels) atomicAdd(total, unsigned(frame[i]));
}

struct Slot {
    unsigned char* frame = nullptr;
    cudaEvent_t uploaded = nullptr, used = nullptr;
};

class Ring {
public:
    Slot* free_slot()
    {
        unsigned tail = tail_.load(std::memory_order_relaxed);
        while (tail - head_.load(std::memory_order_acquire) == slots) std::this_thread::yield();
        return &slots_[tail % slots];
    }
    void publish() { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
    Slot* next()
    {
        unsigned head = head_.load(std::memory_order_relaxed);
        while (tail_.load(std::memory_order_acquire) == head) std::this_thread::yield();
        return &slots_[head % slots];
    }
    void retire() { head_.fetch_add(1, std::memory_order_release); }
    Slot slots_[slots];

private:
    std::atomic<unsigned> head_{0}, tail_{0};
};

void produce(Ring& ring, const unsigned char* source, cudaStream_t stream)
{
    for (int i = 0; i < frames; ++i) {
        Slot* slot = ring.free_slot();
        CHECK(cudaStreamWaitEvent(stream, slot->used, 0));
        CHECK(cudaMemcpyAsync(slot->frame, source, pixels, cudaMemcpyHostToDevice, stream));
        CHECK(cudaEventRecord(slot->uploaded, stream));
        ring.publish();
    }
}

void consume(Ring& ring, unsigned* total, cudaStream_t stream)
{
    for (int i = 0; i < frames; ++i) {
        Slot* slot = ring.next();
        CHECK(cudaStreamWaitEvent(stream, slot->uploaded, 0));
        sum<<<pixels / 256, 256, 0, stream>>>(slot->frame, total);
        CHECK(cudaEventRecord(slot->used, stream));
        ring.retire();
    }
    CHECK(cudaStreamSynchronize(stream));
}

int main()
{
    cudaStream_t upload, compute;
    CHECK(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    Ring ring;
    for (Slot& slot : ring.slots_) {
        CHECK(cudaMalloc(&slot.frame, pixels));
        CHECK(cudaEventCreateWithFlags(&slot.uploaded, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&slot.used, cudaEventDisableTiming));
    }
    unsigned char* source;
    unsigned *total, result;
    CHECK(cudaMallocHost(&source, pixels));
    CHECK(cudaMalloc(&total, sizeof(unsigned)));
    for (int i = 0; i < pixels; ++i) source[i] = i % 7;
    CHECK(cudaMemset(total, 0, sizeof(unsigned)));
    CHECK(cudaDeviceSynchronize());
    std::thread producer(produce, std::ref(ring), source, upload), consumer(consume, std::ref(ring), total, compute);
    producer.join();
    consumer.join();
    CHECK(cudaMemcpy(&result, total, sizeof(unsigned), cudaMemcpyDeviceToHost));
    std::printf("%u\n", result);
    for (Slot& slot : ring.slots_) {
        CHECK(cudaFree(slot.frame));
        CHECK(cudaEventDestroy(slot.uploaded));
        CHECK(cudaEventDestroy(slot.used));
    }
    CHECK(cudaFree(total));
    CHECK(cudaFreeHost(source));
    CHECK(cudaStreamDestroy(upload));
    CHECK(cudaStreamDestroy(compute));
    return 0;
}
