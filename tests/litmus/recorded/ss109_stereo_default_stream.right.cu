// Stereo matching: rectification of both eyes runs on two streams, the cost volume is
// an older code path that launches into the default stream.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define STEREO_CHECK(x)                                                                       \
  do {                                                                                        \
    cudaError_t rc_ = (x);                                                                    \
    if (rc_ != cudaSuccess) {                                                                 \
      std::fprintf(stderr, "%s failed in line %d: %s\n", #x, __LINE__, cudaGetErrorString(rc_)); \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (0)

constexpr int kWidth = 256;
constexpr int kHeight = 64;
constexpr int kDisparities = 16;
constexpr int kPairs = 10;

__global__ void rectify(float* eye, int pair, int side) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  const long long t0 = clock64();
  while (clock64() - t0 < 200000) {
  }
  eye[y * kWidth + x] = float((x * 3 + y * 5 + pair * 7 + side * 4) % 61);
}

// legacy API without a stream parameter
namespace legacy {

__global__ void costVolume(const float* left, const float* right, int* disparity) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  float best = 1e9f;
  int arg = 0;
  for (int d = 0; d < kDisparities && d <= x; ++d) {
    const float c = fabsf(left[y * kWidth + x] - right[y * kWidth + x - d]);
    if (c < best) { best = c; arg = d; }
  }
  disparity[y * kWidth + x] += arg;
}

void match(const float* left, const float* right, int* disparity) {
  costVolume<<<dim3(kWidth / 64, kHeight), 64>>>(left, right, disparity);
  STEREO_CHECK(cudaGetLastError());
}

}  // namespace legacy

class Eye {
 public:
  Eye() {
    STEREO_CHECK(cudaMalloc(&pixels_, kWidth * kHeight * sizeof(float)));
    STEREO_CHECK(cudaMemset(pixels_, 0, kWidth * kHeight * sizeof(float)));
    STEREO_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamDefault));
  }
  ~Eye() {
    cudaStreamDestroy(stream_);
    cudaFree(pixels_);
  }
  void capture(int pair, int side) {
    rectify<<<dim3(kWidth / 64, kHeight), 64, 0, stream_>>>(pixels_, pair, side);
    STEREO_CHECK(cudaGetLastError());
  }
  const float* pixels() const { return pixels_; }
  void wait() const { STEREO_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  float* pixels_ = nullptr;
  cudaStream_t stream_{};
};

int main() {
  int* disparity;
  STEREO_CHECK(cudaMalloc(&disparity, kWidth * kHeight * sizeof(int)));
  STEREO_CHECK(cudaMemset(disparity, 0, kWidth * kHeight * sizeof(int)));
  {
    std::array<Eye, 2> eyes;
    STEREO_CHECK(cudaDeviceSynchronize());
    for (int p = 0; p < kPairs; ++p) {
      eyes[0].capture(p, 0);
      eyes[1].capture(p, 1);
      legacy::match(eyes[0].pixels(), eyes[1].pixels(), disparity);
    }
    STEREO_CHECK(cudaDeviceSynchronize());
    for (const Eye& e : eyes) e.wait();
  }
  std::vector<int> h(kWidth * kHeight);
  STEREO_CHECK(cudaMemcpy(h.data(), disparity, h.size() * sizeof(int), cudaMemcpyDeviceToHost));
  unsigned long long sum = 0;
  for (size_t i = 0; i < h.size(); ++i) sum += (unsigned long long)h[i] * (1 + i % 23);
  std::printf("disparity %llu\n", sum);
  cudaFree(disparity);
  return 0;
}
