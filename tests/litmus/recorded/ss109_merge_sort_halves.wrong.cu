// Batched merge sort. Keys ping-pong between two halves of one allocation; while the
// result of a batch is digested on a second stream the next batch is uploaded.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define SORT_CHECK(x) do { cudaError_t sc = (x); if (sc != cudaSuccess) { \
  std::fprintf(stderr, "sort:%d %s\n", __LINE__, cudaGetErrorString(sc)); std::exit(1); } } while (0)

constexpr int kLog = 12;                 // an even number of passes
constexpr int kKeys = 1 << kLog;
constexpr int kBatches = 10;

__device__ int lowerBound(const uint32_t* a, int n, uint32_t k) {
  int lo = 0;
  while (lo < n) {
    const int mid = (lo + n) / 2;
    if (a[mid] < k) lo = mid + 1; else n = mid;
  }
  return lo;
}

__device__ int upperBound(const uint32_t* a, int n, uint32_t k) {
  int lo = 0;
  while (lo < n) {
    const int mid = (lo + n) / 2;
    if (a[mid] <= k) lo = mid + 1; else n = mid;
  }
  return lo;
}

__global__ void mergeRuns(const uint32_t* src, uint32_t* dst, int run) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int pair = i / (2 * run) * (2 * run);
  const bool second = i - pair >= run;
  const uint32_t key = src[i];
  const int own = second ? i - pair - run : i - pair;
  const int other = second ? upperBound(src + pair, run, key) : lowerBound(src + pair + run, run, key);
  dst[pair + own + other] = key;
}

__global__ void digest(const uint32_t* keys, unsigned long long* out) {
  const long long t0 = clock64();
  while (clock64() - t0 < 400000) {
  }
  unsigned long long a = 0;
  for (int i = threadIdx.x; i < kKeys; i += blockDim.x) a += static_cast<unsigned long long>(keys[i]) * (i + 1);
  atomicAdd(out, a);
}

class BatchSorter {
 public:
  BatchSorter() {
    SORT_CHECK(cudaMalloc(&keys_, 2 * kKeys * sizeof(uint32_t)));
    SORT_CHECK(cudaMalloc(&digests_, kBatches * sizeof(unsigned long long)));
    SORT_CHECK(cudaMemset(digests_, 0, kBatches * sizeof(unsigned long long)));
    SORT_CHECK(cudaMallocHost(&input_, kBatches * kKeys * sizeof(uint32_t)));
    uint32_t x = 12345;
    for (int i = 0; i < kBatches * kKeys; ++i) input_[i] = (x = x * 1664525u + 1013904223u) >> 8;
    SORT_CHECK(cudaStreamCreateWithFlags(&sort_, cudaStreamNonBlocking));
    SORT_CHECK(cudaStreamCreateWithFlags(&post_, cudaStreamNonBlocking));
    SORT_CHECK(cudaEventCreateWithFlags(&sorted_, cudaEventDisableTiming));
    SORT_CHECK(cudaEventCreateWithFlags(&digested_, cudaEventDisableTiming));
    SORT_CHECK(cudaDeviceSynchronize());
  }
  ~BatchSorter() {
    cudaDeviceSynchronize();
    cudaEventDestroy(digested_);
    cudaEventDestroy(sorted_);
    cudaStreamDestroy(post_);
    cudaStreamDestroy(sort_);
    cudaFreeHost(input_);
    cudaFree(digests_);
    cudaFree(keys_);
  }
  void batch(int b) {
    int cur = result_;
    SORT_CHECK(cudaMemcpyAsync(half(cur), input_ + b * kKeys, kKeys * sizeof(uint32_t), cudaMemcpyHostToDevice, sort_));  // expect: SS109
    SORT_CHECK(cudaStreamWaitEvent(sort_, digested_, 0));
    for (int run = 1; run < kKeys; run *= 2, cur ^= 1)
      mergeRuns<<<kKeys / 128, 128, 0, sort_>>>(half(cur), half(cur ^ 1), run);
    result_ = cur;
    SORT_CHECK(cudaEventRecord(sorted_, sort_));
    SORT_CHECK(cudaStreamWaitEvent(post_, sorted_, 0));
    digest<<<1, 256, 0, post_>>>(half(result_), digests_ + b);
    SORT_CHECK(cudaEventRecord(digested_, post_));
  }
  unsigned long long finish() {
    SORT_CHECK(cudaStreamSynchronize(post_));
    std::vector<unsigned long long> h(kBatches);
    SORT_CHECK(cudaMemcpy(h.data(), digests_, kBatches * sizeof(h[0]), cudaMemcpyDeviceToHost));
    unsigned long long d = 0;
    for (auto v : h) d = d * 1099511628211ull + v;
    return d;
  }
 private:
  uint32_t* half(int i) const { return keys_ + i * kKeys; }
  uint32_t *keys_ = nullptr, *input_ = nullptr;
  unsigned long long* digests_ = nullptr;
  int result_ = 0;
  cudaStream_t sort_{}, post_{};
  cudaEvent_t sorted_{}, digested_{};
};

int main() {
  BatchSorter sorter;
  for (int b = 0; b < kBatches; ++b) sorter.batch(b);
  std::printf("sorted digest %016llx\n", sorter.finish());
  return 0;
}
