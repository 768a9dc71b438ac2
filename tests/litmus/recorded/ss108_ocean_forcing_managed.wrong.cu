// Shallow-water toy: wind forcing is produced by the host in a managed array between
// steps. The host keeps polling instead of blocking, to do bookkeeping meanwhile.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define CUDART(x) do { cudaError_t cudart_rc = (x); if (cudart_rc != cudaSuccess) { \
  std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(cudart_rc)); std::exit(EXIT_FAILURE); } } while (0)

constexpr int kCells = 8192;
constexpr int kSteps = 14;

__global__ void applyWind(float* height, const float* wind, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float h = height[i];
  long long t0 = clock64();
  while (clock64() - t0 < 400000) {
  }
  height[i] = 0.9f * h + wind[i];
}

__global__ void sampleTide(float* tide, int step) { tide[step] = 0.1f * step * step; }

class WindModel {
 public:
  void fill(float* wind, int step) const {
    for (int i = 0; i < kCells; ++i)
      wind[i] = std::sin(0.01f * i + step) * 0.5f + step;  // expect: SS108
  }
};

class Ocean {
 public:
  Ocean() {
    CUDART(cudaMallocManaged(&wind_, kCells * sizeof(float)));
    CUDART(cudaMalloc(&height_, kCells * sizeof(float)));
    CUDART(cudaMalloc(&tide_, kSteps * sizeof(float)));
    CUDART(cudaMemset(height_, 0, kCells * sizeof(float)));
    CUDART(cudaStreamCreateWithFlags(&step_, cudaStreamNonBlocking));
    CUDART(cudaStreamCreateWithFlags(&aux_, cudaStreamNonBlocking));
    CUDART(cudaEventCreateWithFlags(&stepDone_, cudaEventDisableTiming));
    CUDART(cudaEventCreateWithFlags(&tideDone_, cudaEventDisableTiming));
    CUDART(cudaDeviceSynchronize());
  }
  ~Ocean() {
    cudaDeviceSynchronize();
    cudaEventDestroy(tideDone_);
    cudaEventDestroy(stepDone_);
    cudaStreamDestroy(aux_);
    cudaStreamDestroy(step_);
    cudaFree(tide_);
    cudaFree(height_);
    cudaFree(wind_);
  }

  void advance(int s) {
    waitPolling(tideDone_);
    model_.fill(wind_, s);
    sampleTide<<<1, 1, 0, aux_>>>(tide_, s);
    CUDART(cudaEventRecord(tideDone_, aux_));
    applyWind<<<kCells / 128, 128, 0, step_>>>(height_, wind_, kCells);
    CUDART(cudaEventRecord(stepDone_, step_));
  }

  double volume() {
    CUDART(cudaStreamSynchronize(step_));
    CUDART(cudaStreamSynchronize(aux_));
    std::vector<float> h(kCells);
    CUDART(cudaMemcpy(h.data(), height_, kCells * sizeof(float), cudaMemcpyDeviceToHost));
    double v = 0;
    for (int i = 0; i < kCells; ++i) v += h[i] * (1 + i % 5);
    return v;
  }
  long polls() const { return polls_; }

 private:
  void waitPolling(cudaEvent_t e) {
    for (;;) {
      cudaError_t s = cudaEventQuery(e);
      if (s == cudaSuccess) return;
      if (s != cudaErrorNotReady) CUDART(s);
      ++polls_;
    }
  }
  WindModel model_;
  float *wind_ = nullptr, *height_ = nullptr, *tide_ = nullptr;
  cudaStream_t step_{}, aux_{};
  cudaEvent_t stepDone_{}, tideDone_{};
  long polls_ = 0;
};

int main() {
  Ocean ocean;
  for (int s = 0; s < kSteps; ++s) ocean.advance(s);
  std::printf("volume %.4f\n", ocean.volume());
  return 0;
}
