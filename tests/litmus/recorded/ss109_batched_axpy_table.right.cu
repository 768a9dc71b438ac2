// Batched solver update: vectors are addressed through a device-resident table of
// pointers; used residuals are cleared on a housekeeping stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace batch {

inline void throwIf(cudaError_t e, const char* what) {
  if (e != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); std::exit(1); }
}
#define B(x) ::batch::throwIf((x), #x)

constexpr int kVectors = 8;
constexpr int kLength = 2048;
constexpr int kRounds = 10;

struct VectorTable {
  float** x;    // device array of device pointers
  float** r;
  int count;
};

__global__ void residual(VectorTable t, int round) {
  float* r = t.r[blockIdx.y];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kLength) r[i] += float((i + round * 3 + blockIdx.y) % 17) * 0.1f;
}

__global__ void axpy(VectorTable t, float a) {
  const long long t0 = clock64();
  while (clock64() - t0 < 250000) {
  }
  float* x = t.x[blockIdx.y];
  float* r = t.r[blockIdx.y];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kLength) x[i] += a * r[i];
}

class Solver {
 public:
  Solver() {
    std::vector<float*> hx, hr;
    for (int v = 0; v < kVectors; ++v) {
      float *x, *r;
      B(cudaMalloc(&x, kLength * sizeof(float)));
      B(cudaMalloc(&r, kLength * sizeof(float)));
      B(cudaMemset(x, 0, kLength * sizeof(float)));
      B(cudaMemset(r, 0, kLength * sizeof(float)));
      hx.push_back(x);
      hr.push_back(r);
    }
    x_ = hx;
    r_ = hr;
    B(cudaMalloc(&table_.x, kVectors * sizeof(float*)));
    B(cudaMalloc(&table_.r, kVectors * sizeof(float*)));
    B(cudaMemcpy(table_.x, hx.data(), kVectors * sizeof(float*), cudaMemcpyHostToDevice));
    B(cudaMemcpy(table_.r, hr.data(), kVectors * sizeof(float*), cudaMemcpyHostToDevice));
    table_.count = kVectors;
    B(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    B(cudaStreamCreateWithFlags(&housekeeping_, cudaStreamNonBlocking));
    B(cudaEventCreateWithFlags(&updated_, cudaEventDisableTiming));
    B(cudaEventCreateWithFlags(&cleared_, cudaEventDisableTiming));
    B(cudaDeviceSynchronize());
  }
  ~Solver() {
    cudaDeviceSynchronize();
    cudaEventDestroy(cleared_);
    cudaEventDestroy(updated_);
    cudaStreamDestroy(housekeeping_);
    cudaStreamDestroy(main_);
    cudaFree(table_.r);
    cudaFree(table_.x);
    for (float* p : r_) cudaFree(p);
    for (float* p : x_) cudaFree(p);
  }
  void round(int n) {
    const dim3 grid(kLength / 128, kVectors);
    B(cudaStreamWaitEvent(main_, cleared_, 0));
    residual<<<grid, 128, 0, main_>>>(table_, n);
    axpy<<<grid, 128, 0, main_>>>(table_, 0.5f);
    B(cudaEventRecord(updated_, main_));
    clearResiduals();
  }
  double checksum() {
    B(cudaStreamSynchronize(main_));
    B(cudaStreamSynchronize(housekeeping_));
    double s = 0;
    std::vector<float> h(kLength);
    for (int v = 0; v < kVectors; ++v) {
      B(cudaMemcpy(h.data(), x_[v], kLength * sizeof(float), cudaMemcpyDeviceToHost));
      for (int i = 0; i < kLength; ++i) s += h[i] * (1 + (i + v) % 9);
    }
    return s;
  }

 private:
  void clearResiduals() {
    B(cudaStreamWaitEvent(housekeeping_, updated_, 0));
    for (float* r : r_) B(cudaMemsetAsync(r, 0, kLength * sizeof(float), housekeeping_));
    B(cudaEventRecord(cleared_, housekeeping_));
  }
  VectorTable table_{};
  std::vector<float*> x_, r_;
  cudaStream_t main_{}, housekeeping_{};
  cudaEvent_t updated_{}, cleared_{};
};

}  // namespace batch

int main() {
  batch::Solver s;
  for (int n = 0; n < batch::kRounds; ++n) s.round(n);
  std::printf("axpy checksum %.4f\n", s.checksum());
  return 0;
}
