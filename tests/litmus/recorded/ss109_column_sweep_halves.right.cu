// Vertical Gauss-Seidel sweeps. The field is cut into a top and bottom half, one
// stream each; every thread walks its own column so a half is free of conflicts.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(x) do { if (cudaError_t rc = (x)) { std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(rc)); std::exit(1); } } while (0)

constexpr int kW = 512;
constexpr int kH = 64;
constexpr int kMid = kH / 2;
constexpr int kSweeps = 12;

struct Field {
  float* cells;
  float* row(int r) const { return cells + static_cast<size_t>(r) * kW; }
};

// rows [r0, r1); `above` is the row before r0, `below` the row at r1 (may be null at the rim)
__global__ void sweepRows(Field f, int r0, int r1, float* above, float* below) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= kW) return;
  float up = above ? above[c] : 0.f;
  for (int r = r0; r < r1; ++r) {
    const float here = f.cells[r * kW + c];
    const float down = (r + 1 < r1) ? f.cells[(r + 1) * kW + c] : (below ? below[c] : 0.f);
    const float v = 0.25f * up + 0.5f * here + 0.25f * down + 0.01f;
    f.cells[r * kW + c] = v;
    up = v;
    const long long t = clock64();
    while (clock64() - t < 3000) { }
  }
}

class Sweeper {
 public:
  explicit Sweeper(const std::vector<float>& init) {
    OK(cudaMalloc(&field_.cells, kW * kH * sizeof(float)));
    OK(cudaMalloc(&seam_, 2 * kW * sizeof(float)));
    OK(cudaMemcpy(field_.cells, init.data(), init.size() * sizeof(float), cudaMemcpyHostToDevice));
    OK(cudaStreamCreateWithFlags(&top_, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&bottom_, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming));
    OK(cudaDeviceSynchronize());
  }
  ~Sweeper() {
    cudaEventDestroy(join_);
    cudaEventDestroy(fork_);
    cudaStreamDestroy(bottom_);
    cudaStreamDestroy(top_);
    cudaFree(seam_);
    cudaFree(field_.cells);
  }

  void sweep() {
    // keep the two rows around the cut as they were before this sweep
    OK(cudaMemcpyAsync(seam_, field_.row(kMid - 1), 2 * kW * sizeof(float), cudaMemcpyDeviceToDevice, top_));
    OK(cudaEventRecord(fork_, top_));
    OK(cudaStreamWaitEvent(bottom_, fork_, 0));
    const int grid = (kW + 127) / 128;
    float* lastAbove = seam_;
    float* firstBelow = seam_ + kW;
    sweepRows<<<grid, 128, 0, top_>>>(field_, 0, kMid, nullptr, firstBelow);
    sweepRows<<<grid, 128, 0, bottom_>>>(field_, kMid, kH, lastAbove, nullptr);
    OK(cudaEventRecord(join_, bottom_));
    OK(cudaStreamWaitEvent(top_, join_, 0));
  }

  double norm() {
    OK(cudaStreamSynchronize(top_));
    std::vector<float> h(kW * kH);
    OK(cudaMemcpy(h.data(), field_.cells, h.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double s = 0;
    for (size_t i = 0; i < h.size(); ++i) s += h[i] * double(1 + i / kW);
    return s;
  }

 private:
  Field field_{};
  float* seam_ = nullptr;
  cudaStream_t top_{}, bottom_{};
  cudaEvent_t fork_{}, join_{};
};

int main() {
  std::vector<float> init(kW * kH);
  for (size_t i = 0; i < init.size(); ++i) init[i] = float((i * 37) % 101);
  Sweeper s(init);
  for (int i = 0; i < kSweeps; ++i) s.sweep();
  std::printf("sweep norm %.5f\n", s.norm());
  return 0;
}
