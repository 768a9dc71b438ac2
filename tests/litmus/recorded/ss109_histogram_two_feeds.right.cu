// Two camera feeds accumulate into one shared intensity histogram with atomics;
// the exporter pulls the histogram to pinned memory each round.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY(x)                                                         \
  do {                                                                 \
    const cudaError_t rc = (x);                                        \
    if (rc != cudaSuccess) {                                           \
      std::fprintf(stderr, "error %d at line %d\n", int(rc), __LINE__); \
      std::abort();                                                    \
    }                                                                  \
  } while (false)

template <int Bins>
__global__ void accumulate(const unsigned char* img, int n, unsigned* hist, int weight, long long latency) {
  __shared__ unsigned local[Bins];
  for (int b = threadIdx.x; b < Bins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[img[i] % Bins], static_cast<unsigned>(weight));
  __syncthreads();
  const long long t0 = clock64();
  while (clock64() - t0 < latency) {
  }
  for (int b = threadIdx.x; b < Bins; b += blockDim.x) atomicAdd(&hist[b], local[b]);
}

struct Feed {
  unsigned char* img = nullptr;
  cudaStream_t stream{};
  cudaEvent_t counted{};
  int pixels;

  explicit Feed(int n, int seed) : pixels(n) {
    std::vector<unsigned char> h(n);
    for (int i = 0; i < n; ++i) h[i] = static_cast<unsigned char>((i * 7 + seed) >> 3);
    TRY(cudaMalloc(&img, n));
    TRY(cudaMemcpy(img, h.data(), n, cudaMemcpyHostToDevice));
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&counted, cudaEventDisableTiming));
  }
  ~Feed() {
    cudaEventDestroy(counted);
    cudaStreamDestroy(stream);
    cudaFree(img);
  }
};

class Histogram {
 public:
  static constexpr int kBins = 64;
  explicit Histogram(int rounds) : rounds_(rounds) {
    TRY(cudaMalloc(&bins_, rounds * kBins * sizeof(unsigned)));
    TRY(cudaMemset(bins_, 0, rounds * kBins * sizeof(unsigned)));
    TRY(cudaMallocHost(&host_, rounds * kBins * sizeof(unsigned)));
  }
  ~Histogram() {
    cudaFreeHost(host_);
    cudaFree(bins_);
  }
  unsigned* bins(int round) { return bins_ + round * kBins; }

  void exportRound(int round, cudaStream_t s) {
    TRY(cudaMemcpyAsync(host_ + round * kBins, bins(round), kBins * sizeof(unsigned), cudaMemcpyDeviceToHost, s));
  }
  unsigned long long checksum() const {
    unsigned long long s = 0;
    for (int i = 0; i < rounds_ * kBins; ++i) s += static_cast<unsigned long long>(host_[i]) * (1 + i % 17);
    return s;
  }

 private:
  int rounds_;
  unsigned* bins_ = nullptr;
  unsigned* host_ = nullptr;
};

static void countRound(Feed& a, Feed& b, Histogram& h, int round) {
  accumulate<Histogram::kBins><<<16, 256, 0, a.stream>>>(a.img, a.pixels, h.bins(round), 1, 20000);
  accumulate<Histogram::kBins><<<16, 256, 0, b.stream>>>(b.img, b.pixels, h.bins(round), 3, 600000);
  TRY(cudaEventRecord(b.counted, b.stream));
  TRY(cudaStreamWaitEvent(a.stream, b.counted, 0));
  h.exportRound(round, a.stream);
}

int main() {
  const int rounds = 10;
  Feed left(1 << 16, 3), right(1 << 16, 11);
  Histogram hist(rounds);
  TRY(cudaDeviceSynchronize());
  for (int r = 0; r < rounds; ++r) countRound(left, right, hist, r);
  TRY(cudaStreamSynchronize(left.stream));
  TRY(cudaStreamSynchronize(right.stream));
  std::printf("histogram checksum %llu\n", hist.checksum());
  return 0;
}
