// Molecular dynamics with Verlet neighbour lists: the list is rebuilt on its own stream
// (class NeighbourList) and used by the force kernel.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define MD(x) do { cudaError_t md_rc = (x); if (md_rc != cudaSuccess) { \
  std::fprintf(stderr, "md, line %d: %s\n", __LINE__, cudaGetErrorString(md_rc)); std::exit(1); } } while (0)

constexpr int kAtoms = 2048;
constexpr int kMaxNeighbours = 16;
constexpr int kSteps = 12;

struct ListView {
  int* count;
  int* index;    // kMaxNeighbours per atom
};

__global__ void buildNeighbours(const float* x, ListView list, float cutoff, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const long long t0 = clock64();
  while (clock64() - t0 < 250000) {
  }
  if (i >= n) return;
  int found = 0;
  for (int j = max(0, i - 64); j < min(n, i + 64) && found < kMaxNeighbours; ++j)
    if (j != i && fabsf(x[i] - x[j]) < cutoff) list.index[i * kMaxNeighbours + found++] = j;
  list.count[i] = found;
}

__global__ void forces(const float* x, ListView list, float* f, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = 0;
  for (int k = 0; k < list.count[i]; ++k) {
    const float d = x[i] - x[list.index[i * kMaxNeighbours + k]];
    a += d / (0.1f + d * d);
  }
  f[i] = a;
}

__global__ void move(float* x, const float* f, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 0.02f * f[i];
}

class NeighbourList {
 public:
  NeighbourList() {
    MD(cudaMalloc(&view_.count, kAtoms * sizeof(int)));
    MD(cudaMalloc(&view_.index, kAtoms * kMaxNeighbours * sizeof(int)));
    MD(cudaMemset(view_.count, 0, kAtoms * sizeof(int)));
    MD(cudaMemset(view_.index, 0, kAtoms * kMaxNeighbours * sizeof(int)));
    MD(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    MD(cudaEventCreateWithFlags(&listReady_, cudaEventDisableTiming));
  }
  ~NeighbourList() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(listReady_);
    cudaStreamDestroy(stream_);
    cudaFree(view_.index);
    cudaFree(view_.count);
  }
  cudaEvent_t rebuild(const float* x, cudaEvent_t positionsReady) {
    MD(cudaStreamWaitEvent(stream_, positionsReady, 0));
    MD(cudaEventRecord(listReady_, stream_));
    buildNeighbours<<<kAtoms / 128, 128, 0, stream_>>>(x, view_, 0.5f, kAtoms);
    return listReady_;
  }
  const ListView& view() const { return view_; }
 private:
  ListView view_{};
  cudaStream_t stream_{};
  cudaEvent_t listReady_{};
};

int main() {
  float *x, *f;
  std::vector<float> h(kAtoms);
  for (int i = 0; i < kAtoms; ++i) h[i] = 0.1f * i + 0.03f * (i % 5);
  MD(cudaMalloc(&x, kAtoms * sizeof(float)));
  MD(cudaMalloc(&f, kAtoms * sizeof(float)));
  MD(cudaMemcpy(x, h.data(), kAtoms * sizeof(float), cudaMemcpyHostToDevice));
  MD(cudaMemset(f, 0, kAtoms * sizeof(float)));
  cudaStream_t dynamics;
  cudaEvent_t moved;
  MD(cudaStreamCreateWithFlags(&dynamics, cudaStreamNonBlocking));
  MD(cudaEventCreateWithFlags(&moved, cudaEventDisableTiming));
  {
    NeighbourList list;
    MD(cudaDeviceSynchronize());
    const int grid = kAtoms / 128;
    for (int s = 0; s < kSteps; ++s) {
      MD(cudaStreamWaitEvent(dynamics, list.rebuild(x, moved), 0));
      forces<<<grid, 128, 0, dynamics>>>(x, list.view(), f, kAtoms);  // expect: SS109
      move<<<grid, 128, 0, dynamics>>>(x, f, kAtoms);  // expect: SS109
      MD(cudaEventRecord(moved, dynamics));
    }
    MD(cudaStreamSynchronize(dynamics));
  }
  MD(cudaMemcpy(h.data(), x, kAtoms * sizeof(float), cudaMemcpyDeviceToHost));
  double s = 0;
  for (int i = 0; i < kAtoms; ++i) s += h[i] * double(1 + i % 3);
  std::printf("positions %.6f\n", s);
  cudaEventDestroy(moved);
  cudaStreamDestroy(dynamics);
  cudaFree(f);
  cudaFree(x);
  return 0;
}
