// Rate control for a toy codec: a statistics kernel fills a __managed__ struct, the
// host picks the next quantiser from it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK_OR_EXIT(x) { cudaError_t r = (x); if (r != cudaSuccess) { \
  std::fprintf(stderr, "%s (line %d): %s\n", #x, __LINE__, cudaGetErrorString(r)); std::exit(1); } }

constexpr int kBlocks = 512;
constexpr int kFrames = 10;

struct RateStats {
  unsigned long long bits;
  unsigned int nonZero;
  int frame;
};

__managed__ RateStats g_stats;

__global__ void quantise(const short* coeff, short* out, int n, int q) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = coeff[i] / q;
}

__global__ void collectStats(const short* levels, int n, int frame) {
  const long long t0 = clock64();
  while (clock64() - t0 < 300000) {
  }
  __shared__ unsigned int bits, nz;
  if (threadIdx.x == 0) bits = nz = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const int v = abs(levels[i]);
    if (v) {
      atomicAdd(&bits, 2 + 2 * (31 - __clz(v)));
      atomicAdd(&nz, 1);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    g_stats.bits = bits;
    g_stats.nonZero = nz;
    g_stats.frame = frame;
  }
}

class RateController {
 public:
  int next() {
    const RateStats s = g_stats;
    if (s.bits > 30000) quant_ += 2;
    else if (quant_ > 2) quant_ -= 1;
    trace_ = trace_ * 33 + s.bits + s.nonZero + unsigned(s.frame);
    return quant_;
  }
  int quant() const { return quant_; }
  unsigned long long trace() const { return trace_; }
 private:
  int quant_ = 8;
  unsigned long long trace_ = 5381;
};

class Encoder {
 public:
  explicit Encoder(const std::vector<short>& c) : n_(int(c.size())) {
    OK_OR_EXIT(cudaMalloc(&coeff_, n_ * sizeof(short)));
    OK_OR_EXIT(cudaMalloc(&levels_, n_ * sizeof(short)));
    OK_OR_EXIT(cudaMemcpy(coeff_, c.data(), n_ * sizeof(short), cudaMemcpyHostToDevice));
    OK_OR_EXIT(cudaStreamCreateWithFlags(&encode_, cudaStreamNonBlocking));
    OK_OR_EXIT(cudaStreamCreateWithFlags(&stats_, cudaStreamNonBlocking));
    OK_OR_EXIT(cudaEventCreateWithFlags(&quantised_, cudaEventDisableTiming));
    OK_OR_EXIT(cudaEventCreateWithFlags(&counted_, cudaEventDisableTiming));
    OK_OR_EXIT(cudaDeviceSynchronize());
  }
  ~Encoder() {
    cudaDeviceSynchronize();
    cudaEventDestroy(counted_);
    cudaEventDestroy(quantised_);
    cudaStreamDestroy(stats_);
    cudaStreamDestroy(encode_);
    cudaFree(levels_);
    cudaFree(coeff_);
  }
  void encode(int frame, int q) {
    OK_OR_EXIT(cudaStreamWaitEvent(encode_, counted_, 0));
    quantise<<<(n_ + 255) / 256, 256, 0, encode_>>>(coeff_, levels_, n_, q);
    OK_OR_EXIT(cudaEventRecord(quantised_, encode_));
    OK_OR_EXIT(cudaStreamWaitEvent(stats_, quantised_, 0));
    collectStats<<<1, 256, 0, stats_>>>(levels_, n_, frame);
    OK_OR_EXIT(cudaEventRecord(counted_, stats_));
  }
  void settle() { OK_OR_EXIT(cudaStreamSynchronize(stats_)); }
 private:
  int n_;
  short *coeff_ = nullptr, *levels_ = nullptr;
  cudaStream_t encode_{}, stats_{};
  cudaEvent_t quantised_{}, counted_{};
};

int main() {
  std::vector<short> c(kBlocks * 64);
  for (size_t i = 0; i < c.size(); ++i) c[i] = static_cast<short>((i * 7919) % 401 - 200);
  Encoder enc(c);
  RateController rate;
  for (int f = 0; f < kFrames; ++f) {
    enc.encode(f, rate.quant());
    enc.settle();
    rate.next();
  }
  std::printf("rate trace %016llx, final quantiser %d\n", rate.trace(), rate.quant());
  return 0;
}
