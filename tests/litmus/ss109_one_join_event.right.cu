#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    std::printf("%d: %s\n", __LINE__, cudaGetErrorString(e_)); std::exit(1); } } while (0)

class Stream {
public:
    Stream() { CK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
    Stream(Stream&& o) noexcept : s_(std::exchange(o.s_, nullptr)) {}
    Stream(const Stream&) = delete;
    ~Stream() { if (s_) cudaStreamDestroy(s_); }
    operator cudaStream_t() const { return s_; }
private:
    cudaStream_t s_ = nullptr;
};

__global__ void partial(const int* data, int begin, int end, unsigned long long* out, long long cycles) {
    for (long long t = clock64(); clock64() - t < cycles;) {}
    unsigned long long v = 0;
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) v += data[i];
    __shared__ unsigned long long sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, v);
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}
__global__ void total(const unsigned long long* parts, int n, unsigned long long* out) {
    unsigned long long v = 0;
    for (int i = 0; i < n; ++i) v += parts[i];
    *out = v;
}

class Reducer {
public:
    Reducer(int lanes, cudaStream_t collector) : collector_(collector) {
        for (int i = 0; i < lanes; ++i) lanes_.try_emplace(i);
        CK(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming));
        CK(cudaMalloc(&parts_, lanes * sizeof(*parts_)));
        CK(cudaMalloc(&out_, sizeof(*out_)));
        CK(cudaMemsetAsync(parts_, 0, lanes * sizeof(*parts_), collector_));
        CK(cudaStreamSynchronize(collector_));
    }
    ~Reducer() {
        for (auto& [id, lane] : lanes_) CK(cudaStreamSynchronize(lane));
        CK(cudaStreamSynchronize(collector_));
        CK(cudaFree(parts_));
        CK(cudaFree(out_));
        CK(cudaEventDestroy(join_));
    }
    unsigned long long run(const int* data, int n) {
        const int lanes = int(lanes_.size()), chunk = (n + lanes - 1) / lanes;
        for (auto& [id, lane] : lanes_) {
            const int begin = id * chunk, end = begin + chunk < n ? begin + chunk : n;
            partial<<<1, 256, 0, lane>>>(data, begin, end, parts_ + id, 15000000LL * (lanes - id));
        }
        CK(cudaGetLastError());
        for (auto& [id, lane] : lanes_) {
            CK(cudaEventRecord(join_, lane));
            CK(cudaStreamWaitEvent(collector_, join_, 0));
        }
        total<<<1, 1, 0, collector_>>>(parts_, lanes, out_);
        CK(cudaGetLastError());
        unsigned long long h = 0;
        CK(cudaMemcpyAsync(&h, out_, sizeof h, cudaMemcpyDeviceToHost, collector_));
        CK(cudaStreamSynchronize(collector_));
        return h;
    }
private:
    std::map<int, Stream> lanes_;
    cudaStream_t collector_;
    cudaEvent_t join_{};
    unsigned long long *parts_ = nullptr, *out_ = nullptr;
};

int main() {
    const int n = 40000;
    std::vector<int> h(n);
    Stream collector;
    int* data;
    CK(cudaMalloc(&data, n * sizeof(int)));
    int bad = 0;
    {
        Reducer red(4, collector);
        for (int round = 1; round <= 3; ++round) {
            unsigned long long want = 0;
            for (int i = 0; i < n; ++i) want += h[i] = i % 100 + round * 1000;
            CK(cudaMemcpyAsync(data, h.data(), n * sizeof(int), cudaMemcpyHostToDevice, collector));
            CK(cudaStreamSynchronize(collector));
            bad += red.run(data, n) != want;
        }
    }
    CK(cudaFree(data));
    std::printf("reductions wrong: %d\n", bad);
    return bad ? 1 : 0;
}
