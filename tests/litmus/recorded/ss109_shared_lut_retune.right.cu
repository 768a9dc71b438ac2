// Two detector channels linearise their samples through one shared lookup table; the
// table is retuned now and then on the stream of channel 0.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define DET(x)                                                                          \
  {                                                                                     \
    const cudaError_t det_rc = (x);                                                     \
    if (det_rc != cudaSuccess) {                                                        \
      std::fprintf(stderr, "detector %d: %s\n", __LINE__, cudaGetErrorString(det_rc));  \
      std::exit(1);                                                                     \
    }                                                                                   \
  }

constexpr int kEntries = 1024;
constexpr int kSamples = 1 << 14;
constexpr int kFrames = 16;

struct LinearizerArgs {
  float* table;          // historic signature, not const
  unsigned short* raw;
  unsigned long long* sum;
  int n;
  int settle;            // cycles
};

__global__ void retune(float* table, int frame) {
  const int i = threadIdx.x;
  table[i] = float(i) + 3.0f * frame;
}

__global__ void linearise(LinearizerArgs a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const long long t0 = clock64();
  while (clock64() - t0 < a.settle) {
  }
  if (i < a.n) atomicAdd(a.sum, static_cast<unsigned long long>(a.table[a.raw[i] % kEntries]));
}

class Channel {
 public:
  explicit Channel(int id) : settle_(100000 * (1 + 2 * id)) {
    std::vector<unsigned short> h(kSamples);
    for (int i = 0; i < kSamples; ++i) h[i] = static_cast<unsigned short>(i * (7 + id));
    DET(cudaMalloc(&raw_, kSamples * sizeof(unsigned short)));
    DET(cudaMemcpy(raw_, h.data(), kSamples * sizeof(unsigned short), cudaMemcpyHostToDevice));
    DET(cudaMalloc(&sums_, kFrames * sizeof(unsigned long long)));
    DET(cudaMemset(sums_, 0, kFrames * sizeof(unsigned long long)));
    DET(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    DET(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
  }
  ~Channel() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
    cudaFree(sums_);
    cudaFree(raw_);
  }
  void process(float* table, int frame) {
    linearise<<<kSamples / 256, 256, 0, stream_>>>(LinearizerArgs{table, raw_, sums_ + frame, kSamples, settle_});
    DET(cudaEventRecord(done_, stream_));
  }
  cudaStream_t stream() const { return stream_; }
  cudaEvent_t done() const { return done_; }
  unsigned long long digest() const {
    std::vector<unsigned long long> h(kFrames);
    DET(cudaStreamSynchronize(stream_));
    DET(cudaMemcpy(h.data(), sums_, kFrames * sizeof(h[0]), cudaMemcpyDeviceToHost));
    unsigned long long d = 0;
    for (auto v : h) d = d * 37 + v;
    return d;
  }
 private:
  int settle_;
  unsigned short* raw_ = nullptr;
  unsigned long long* sums_ = nullptr;
  cudaStream_t stream_{};
  cudaEvent_t done_{};
};

int main() {
  float* table;
  cudaEvent_t retuned;
  DET(cudaMalloc(&table, kEntries * sizeof(float)));
  DET(cudaMemset(table, 0, kEntries * sizeof(float)));
  DET(cudaEventCreateWithFlags(&retuned, cudaEventDisableTiming));
  {
    Channel ch0(0), ch1(1);
    DET(cudaDeviceSynchronize());
    for (int f = 0; f < kFrames; ++f) {
      if (f % 4 == 0) {
        DET(cudaStreamWaitEvent(ch0.stream(), ch1.done(), 0));
        retune<<<1, kEntries, 0, ch0.stream()>>>(table, f);
        DET(cudaEventRecord(retuned, ch0.stream()));
        DET(cudaStreamWaitEvent(ch1.stream(), retuned, 0));
      }
      ch0.process(table, f);
      ch1.process(table, f);
    }
    std::printf("linearised %016llx %016llx\n", ch0.digest(), ch1.digest());
  }
  cudaEventDestroy(retuned);
  cudaFree(table);
  return 0;
}
