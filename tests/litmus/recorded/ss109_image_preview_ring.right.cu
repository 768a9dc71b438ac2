// Live preview: a capture stage writes linear-light frames into a small ring,
// a display stage tone-maps them and accumulates the mean luminance per frame.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CUDA_OK(expr)                                                              \
  do {                                                                             \
    cudaError_t err_ = (expr);                                                     \
    if (err_ != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

namespace preview {

constexpr int kPixels = 256 * 128;
constexpr int kRing = 3;
constexpr int kFrames = 24;

__device__ void shade(long long cycles) {
  const long long t0 = clock64();
  while (clock64() - t0 < cycles) { }
}

__global__ void exposeSensor(float* pix, int n, int frame) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) pix[i] = 0.25f * (frame + 1) + (i & 7) * 0.125f;
}

__global__ void toneMap(const float* pix, unsigned char* rgb, unsigned long long* luma, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  shade(250000);
  if (i >= n) return;
  const float v = pix[i];
  const float mapped = v / (1.0f + v);
  rgb[i] = static_cast<unsigned char>(mapped * 255.0f);
  atomicAdd(luma, static_cast<unsigned long long>(v * 8.0f));
}

struct Frame {
  float* pix = nullptr;
  cudaEvent_t filled{};
  cudaEvent_t shown{};
  Frame() {
    CUDA_OK(cudaMalloc(&pix, kPixels * sizeof(float)));
    CUDA_OK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
    CUDA_OK(cudaEventCreateWithFlags(&shown, cudaEventDisableTiming));
  }
  ~Frame() {
    cudaEventDestroy(shown);
    cudaEventDestroy(filled);
    cudaFree(pix);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
};

class Pipeline {
 public:
  Pipeline() {
    for (int i = 0; i < kRing; ++i) ring_.push_back(std::make_unique<Frame>());
    CUDA_OK(cudaStreamCreateWithFlags(&capture_, cudaStreamNonBlocking));
    CUDA_OK(cudaStreamCreateWithFlags(&display_, cudaStreamNonBlocking));
    CUDA_OK(cudaMalloc(&rgb_, kPixels));
    CUDA_OK(cudaMalloc(&luma_, kFrames * sizeof(unsigned long long)));
    CUDA_OK(cudaMemset(luma_, 0, kFrames * sizeof(unsigned long long)));
    CUDA_OK(cudaDeviceSynchronize());
  }
  ~Pipeline() {
    cudaDeviceSynchronize();
    cudaFree(luma_);
    cudaFree(rgb_);
    cudaStreamDestroy(display_);
    cudaStreamDestroy(capture_);
  }

  void push(int frame) {
    Frame& slot = *ring_[frame % kRing];
    const int grid = (kPixels + 255) / 256;
    CUDA_OK(cudaStreamWaitEvent(capture_, slot.shown, 0));
    exposeSensor<<<grid, 256, 0, capture_>>>(slot.pix, kPixels, frame);
    CUDA_OK(cudaEventRecord(slot.filled, capture_));
    CUDA_OK(cudaStreamWaitEvent(display_, slot.filled, 0));
    toneMap<<<grid, 256, 0, display_>>>(slot.pix, rgb_, luma_ + frame, kPixels);
    CUDA_OK(cudaEventRecord(slot.shown, display_));
    CUDA_OK(cudaGetLastError());
  }

  unsigned long long finish() {
    std::vector<unsigned long long> host(kFrames);
    CUDA_OK(cudaStreamSynchronize(display_));
    CUDA_OK(cudaMemcpy(host.data(), luma_, kFrames * sizeof(host[0]), cudaMemcpyDeviceToHost));
    unsigned long long sum = 0;
    for (int f = 0; f < kFrames; ++f) sum += host[f] * (f + 1);
    return sum;
  }

 private:
  std::vector<std::unique_ptr<Frame>> ring_;
  cudaStream_t capture_{}, display_{};
  unsigned char* rgb_ = nullptr;
  unsigned long long* luma_ = nullptr;
};

}  // namespace preview

int main() {
  preview::Pipeline pipe;
  for (int f = 0; f < preview::kFrames; ++f) pipe.push(f);
  std::printf("luma checksum %llu\n", pipe.finish());
  return 0;
}
