// Producer thread prepares blocks on its stream; consumer thread reduces them on another.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#define CK(x)                                                                      \
    do {                                                                           \
        if (cudaError_t rc = (x)) {                                                \
            std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(rc));    \
            std::_Exit(1);                                                         \
        }                                                                          \
    } while (0)

template <typename T>
class Channel {
public:
    void push(T v) {
        { std::lock_guard<std::mutex> l(m_); q_.push_back(std::move(v)); }
        cv_.notify_one();
    }
    void close() {
        { std::lock_guard<std::mutex> l(m_); closed_ = true; }
        cv_.notify_all();
    }
    std::optional<T> pop() {
        std::unique_lock<std::mutex> l(m_);
        cv_.wait(l, [&] { return !q_.empty() || closed_; });
        if (q_.empty()) return std::nullopt;
        T v = std::move(q_.front());
        q_.pop_front();
        return v;
    }
private:
    std::mutex m_;
    std::condition_variable cv_;
    std::deque<T> q_;
    bool closed_ = false;
};

struct Item {
    int id;
    unsigned* data;
    cudaEvent_t ready;
};

constexpr int kElems = 1 << 15, kItems = 6;

__global__ void prepare(unsigned* d, int n, unsigned seed, long long cycles) {
    long long t0 = clock64();
    while (clock64() - t0 < cycles) {}
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) d[i] = (unsigned(i) * 2246822519u) ^ (seed * 3266489917u);
}
__global__ void foldXor(const unsigned* d, int n, unsigned* out) {
    unsigned acc = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) acc += d[i] >> 3;
    atomicAdd(out, acc);
}

static uint32_t referenceFold(unsigned seed) {
    uint32_t acc = 0;
    for (unsigned i = 0; i < unsigned(kElems); ++i) acc += ((i * 2246822519u) ^ (seed * 3266489917u)) >> 3;
    return acc;
}
static uint32_t auditTrail(unsigned seed) {
    uint32_t h = seed;
    for (int round = 0; round < 200; ++round) h = h * 31u + referenceFold(seed + round);
    return h;
}

int main() {
    unsigned *arena, *sums;
    CK(cudaMalloc(&arena, sizeof(unsigned) * kElems * kItems));
    CK(cudaMemset(arena, 0, sizeof(unsigned) * kElems * kItems));
    CK(cudaMalloc(&sums, sizeof(unsigned) * kItems));
    CK(cudaMemset(sums, 0, sizeof(unsigned) * kItems));
    cudaFuncAttributes fa;
    CK(cudaFuncGetAttributes(&fa, foldXor));
    CK(cudaFuncGetAttributes(&fa, prepare));
    CK(cudaDeviceSynchronize());

    Channel<Item> channel;
    std::vector<uint32_t> audit(kItems);
    std::vector<cudaEvent_t> events(kItems);
    for (auto& e : events) CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));

    std::thread producer([&] {
        cudaStream_t s;
        CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        for (int id = 0; id < kItems; ++id) {
            Item item{id, arena + size_t(id) * kElems, events[id]};
            prepare<<<kElems / 256, 256, 0, s>>>(item.data, kElems, id, 40'000'000LL);
            CK(cudaGetLastError());
            channel.push(item);
            audit[id] = auditTrail(id);
            CK(cudaEventRecord(item.ready, s));
        }
        channel.close();
        CK(cudaStreamSynchronize(s));
        CK(cudaStreamDestroy(s));
    });
    std::thread consumer([&] {
        cudaStream_t s;
        CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        while (auto item = channel.pop()) {
            CK(cudaStreamWaitEvent(s, item->ready, 0));
            foldXor<<<1, 256, 0, s>>>(item->data, kElems, sums + item->id);  // expect: SS109
            CK(cudaGetLastError());
        }
        CK(cudaStreamSynchronize(s));
        CK(cudaStreamDestroy(s));
    });
    producer.join();
    consumer.join();

    std::vector<unsigned> got(kItems);
    CK(cudaMemcpy(got.data(), sums, kItems * sizeof(unsigned), cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int i = 0; i < kItems; ++i) bad += got[i] != referenceFold(i) || audit[i] != auditTrail(i);
    for (auto e : events) cudaEventDestroy(e);
    cudaFree(arena);
    cudaFree(sums);
    std::printf("channel: %d bad items of %d\n", bad, kItems);
    return bad ? 1 : 0;
}
