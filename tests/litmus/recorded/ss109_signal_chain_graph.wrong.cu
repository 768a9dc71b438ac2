// Radio signal chain captured once as a graph (mix -> FIR -> detector). A logger on
// another stream turns the detector output into a running peak table.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GUARD(x) do { const cudaError_t guard_ = (x); if (guard_ != cudaSuccess) { \
  std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(guard_)); std::exit(1); } } while (0)

constexpr int kSamples = 1 << 14;
constexpr int kTaps = 16;
constexpr int kBlocks = 12;

__global__ void mixDown(float* out, int n, const int* blockNo) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = float((i * (*blockNo + 3)) % 97) - 48.f;
}

__global__ void fir(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = 0;
  for (int t = 0; t < kTaps; ++t)
    if (i >= t) a += in[i - t] * (1.f / (t + 1));
  long long t0 = clock64();
  while (clock64() - t0 < 100000) {}
  out[i] = a;
}

__global__ void detect(const float* in, float* envelope, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) envelope[i] = fabsf(in[i]);
}

__global__ void advance(int* blockNo) { ++*blockNo; }

__global__ void logPeaks(const float* envelope, int n, int* table, int row) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMax(&table[row * 32 + (i & 31)], int(envelope[i] * 16.f));
}

class Receiver {
 public:
  Receiver() {
    for (float** p : {&mixed_, &filtered_, &envelope_}) {
      GUARD(cudaMalloc(p, kSamples * sizeof(float)));
      GUARD(cudaMemset(*p, 0, kSamples * sizeof(float)));
    }
    GUARD(cudaMalloc(&blockNo_, sizeof(int)));
    GUARD(cudaMemset(blockNo_, 0, sizeof(int)));
    GUARD(cudaMalloc(&table_, kBlocks * 32 * sizeof(int)));
    GUARD(cudaMemset(table_, 0, kBlocks * 32 * sizeof(int)));
    GUARD(cudaStreamCreateWithFlags(&dsp_, cudaStreamNonBlocking));
    GUARD(cudaStreamCreateWithFlags(&log_, cudaStreamNonBlocking));
    GUARD(cudaEventCreateWithFlags(&chainDone_, cudaEventDisableTiming));
    GUARD(cudaEventCreateWithFlags(&logged_, cudaEventDisableTiming));
    GUARD(cudaDeviceSynchronize());
    buildChain();
  }
  ~Receiver() {
    cudaGraphExecDestroy(chain_);
    cudaEventDestroy(logged_);
    cudaEventDestroy(chainDone_);
    cudaStreamDestroy(log_);
    cudaStreamDestroy(dsp_);
    for (void* p : {(void*)mixed_, (void*)filtered_, (void*)envelope_, (void*)blockNo_, (void*)table_}) cudaFree(p);
  }
  void process(int b) {
    GUARD(cudaStreamWaitEvent(dsp_, logged_, 0));
    GUARD(cudaGraphLaunch(chain_, dsp_));
    GUARD(cudaEventRecord(chainDone_, dsp_));
    logPeaks<<<kSamples / 256, 256, 0, log_>>>(envelope_, kSamples, table_, b);  // expect: SS109
    GUARD(cudaEventRecord(logged_, log_));
  }
  long long checksum() {
    GUARD(cudaStreamSynchronize(dsp_));
    GUARD(cudaStreamSynchronize(log_));
    std::vector<int> h(kBlocks * 32);
    GUARD(cudaMemcpy(h.data(), table_, h.size() * sizeof(int), cudaMemcpyDeviceToHost));
    long long s = 0;
    for (size_t i = 0; i < h.size(); ++i) s += (long long)h[i] * (i + 1);
    return s;
  }

 private:
  void buildChain() {
    cudaGraph_t g;
    GUARD(cudaStreamBeginCapture(dsp_, cudaStreamCaptureModeThreadLocal));
    const int grid = kSamples / 256;
    mixDown<<<grid, 256, 0, dsp_>>>(mixed_, kSamples, blockNo_);
    fir<<<grid, 256, 0, dsp_>>>(mixed_, filtered_, kSamples);
    detect<<<grid, 256, 0, dsp_>>>(filtered_, envelope_, kSamples);
    advance<<<1, 1, 0, dsp_>>>(blockNo_);
    GUARD(cudaStreamEndCapture(dsp_, &g));
    GUARD(cudaGraphInstantiate(&chain_, g, 0));
    GUARD(cudaGraphDestroy(g));
  }
  float *mixed_ = nullptr, *filtered_ = nullptr, *envelope_ = nullptr;
  int *blockNo_ = nullptr, *table_ = nullptr;
  cudaStream_t dsp_{}, log_{};
  cudaEvent_t chainDone_{}, logged_{};
  cudaGraphExec_t chain_{};
};

int main() {
  Receiver rx;
  for (int b = 0; b < kBlocks; ++b) rx.process(b);
  std::printf("peak checksum %lld\n", rx.checksum());
  return 0;
}
