#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    std::printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); std::exit(1); } } while (0)

class CachingAllocator {
public:
    static CachingAllocator& instance() {
        static CachingAllocator a;
        return a;
    }
    void* get(size_t bytes, cudaStream_t stream) {
        std::lock_guard<std::mutex> lk(m_);
        auto& bin = free_[round(bytes)];
        if (!bin.empty()) {
            Block b = bin.back();
            bin.pop_back();
            b.stream = stream;
            live_[b.ptr] = b;
            return b.ptr;
        }
        Block b{};
        b.bytes = round(bytes);
        b.stream = stream;
        CK(cudaMalloc(&b.ptr, b.bytes));
        CK(cudaEventCreateWithFlags(&b.released, cudaEventDisableTiming));
        live_[b.ptr] = b;
        return b.ptr;
    }
    void put(void* p) {
        std::lock_guard<std::mutex> lk(m_);
        Block b = live_.at(p);
        live_.erase(p);
        CK(cudaEventRecord(b.released, b.stream));
        free_[b.bytes].push_back(b);
    }
    void trim() {
        CK(cudaDeviceSynchronize());
        for (auto& [sz, bin] : free_)
            for (auto& b : bin) { CK(cudaFree(b.ptr)); CK(cudaEventDestroy(b.released)); }
        free_.clear();
    }
private:
    struct Block { void* ptr; size_t bytes; cudaStream_t stream; cudaEvent_t released; };
    static size_t round(size_t b) { return (b + 511) & ~size_t(511); }
    std::mutex m_;
    std::map<size_t, std::vector<Block>> free_;
    std::map<void*, Block> live_;
};

__global__ void expand(int* tmp, int n, int seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tmp[i] = seed + i;
}
__global__ void fold(const int* tmp, int* out, int n, long long cycles) {
    long long t0 = clock64();
    while (clock64() - t0 < cycles) {}
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tmp[i] * 2;
}

struct Request { int seed; cudaStream_t stream; int* out; long long cost; };

static void serve(const Request& r, int n) {
    auto& cache = CachingAllocator::instance();
    int* tmp = static_cast<int*>(cache.get(n * sizeof(int), r.stream));
    expand<<<(n + 255) / 256, 256, 0, r.stream>>>(tmp, n, r.seed);  // expect: SS109
    fold<<<(n + 255) / 256, 256, 0, r.stream>>>(tmp, r.out, n, r.cost);  // expect: SS109
    CK(cudaGetLastError());
    cache.put(tmp);
}

int main() {
    const int n = 8192, reqs = 6;
    cudaStream_t lane[2];
    for (auto& s : lane) CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    std::vector<int*> outs(reqs);
    for (auto& o : outs) CK(cudaMalloc(&o, n * sizeof(int)));
    serve({0, lane[0], outs[0], 1}, n);
    CK(cudaDeviceSynchronize());
    for (int i = 0; i < reqs; ++i) serve({1000 * i, lane[i & 1], outs[i], 40000000LL}, n);
    CK(cudaDeviceSynchronize());
    int bad = 0;
    std::vector<int> h(n);
    for (int i = 0; i < reqs; ++i) {
        CK(cudaMemcpy(h.data(), outs[i], n * sizeof(int), cudaMemcpyDeviceToHost));
        for (int k = 0; k < n; ++k) bad += h[k] != 2 * (1000 * i + k);
        CK(cudaFree(outs[i]));
    }
    CachingAllocator::instance().trim();
    for (auto& s : lane) CK(cudaStreamDestroy(s));
    std::printf("caching server: %d bad\n", bad);
    return bad ? 1 : 0;
}
