// ADC ingest: a std::vector is page-locked in place and used as two halves; the host
// fills one half while the other is being uploaded and demodulated.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define ADC_CHECK(expr)                                                    \
  if (cudaError_t err = (expr); err != cudaSuccess) {                      \
    std::fprintf(stderr, "%s -> %s\n", #expr, cudaGetErrorString(err));    \
    std::exit(1);                                                          \
  }

constexpr size_t kHalf = 128 * 1024;   // samples per half
constexpr int kChunks = 16;

__global__ void warmUp(int* acc, int cycles) {
  long long t0 = clock64();
  while (clock64() - t0 < cycles) {
  }
  if (threadIdx.x == 0 && blockIdx.x == 0) acc[0] += 1;
}

__global__ void demodulate(const int16_t* samples, int* acc, size_t n, int chunk) {
  int a = 0;
  for (size_t i = threadIdx.x; i < n; i += blockDim.x) a += samples[i] * ((i & 1) ? -1 : 2);
  atomicAdd(&acc[1 + chunk], a);
}

class PinnedRegion {
 public:
  PinnedRegion(void* p, size_t bytes) : p_(p) { ADC_CHECK(cudaHostRegister(p, bytes, cudaHostRegisterDefault)); }
  ~PinnedRegion() { cudaHostUnregister(p_); }
 private:
  void* p_;
};

class Ingest {
 public:
  Ingest() : samples_(2 * kHalf), pinned_(samples_.data(), samples_.size() * sizeof(int16_t)) {
    ADC_CHECK(cudaMalloc(&device_, 2 * kHalf * sizeof(int16_t)));
    ADC_CHECK(cudaMalloc(&acc_, (kChunks + 1) * sizeof(int)));
    ADC_CHECK(cudaMemset(acc_, 0, (kChunks + 1) * sizeof(int)));
    ADC_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (cudaEvent_t& e : uploaded_) ADC_CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    ADC_CHECK(cudaDeviceSynchronize());
  }
  ~Ingest() {
    cudaStreamSynchronize(stream_);
    for (cudaEvent_t e : uploaded_) cudaEventDestroy(e);
    cudaStreamDestroy(stream_);
    cudaFree(acc_);
    cudaFree(device_);
  }

  void chunk(int c) {
    const int half = c & 1;
    const size_t offset = half * kHalf;
    readAdc(samples_.data() + offset, c);
    ADC_CHECK(cudaEventSynchronize(uploaded_[half]));
    warmUp<<<1, 32, 0, stream_>>>(acc_, 600000);
    ADC_CHECK(cudaMemcpyAsync(device_ + offset, samples_.data() + offset, kHalf * sizeof(int16_t),
                              cudaMemcpyHostToDevice, stream_));
    ADC_CHECK(cudaEventRecord(uploaded_[half], stream_));
    demodulate<<<1, 256, 0, stream_>>>(device_ + offset, acc_, kHalf, c);
  }

  double result() {
    ADC_CHECK(cudaStreamSynchronize(stream_));
    std::vector<int> h(kChunks + 1);
    ADC_CHECK(cudaMemcpy(h.data(), acc_, h.size() * sizeof(int), cudaMemcpyDeviceToHost));
    double s = 0;
    for (size_t i = 0; i < h.size(); ++i) s += h[i] * double(i);
    return s;
  }

 private:
  static void readAdc(int16_t* dst, int c) {
    for (size_t i = 0; i < kHalf; ++i) dst[i] = int16_t((i * 3 + c * 101) & 0x3ff);  // expect: SS108
  }
  std::vector<int16_t> samples_;
  PinnedRegion pinned_;
  int16_t* device_ = nullptr;
  int* acc_ = nullptr;
  cudaStream_t stream_{};
  cudaEvent_t uploaded_[2]{};
};

int main() {
  Ingest ingest;
  for (int c = 0; c < kChunks; ++c) ingest.chunk(c);
  std::printf("demodulated %.1f\n", ingest.result());
  return 0;
}
