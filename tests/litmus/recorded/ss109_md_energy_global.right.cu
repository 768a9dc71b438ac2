// Molecular dynamics: forces/kinetic energy on one stream, a thermostat on another.
// Global step quantities are kept in __device__ variables.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define MD_CHECK(x) do { cudaError_t m_ = (x); if (m_ != cudaSuccess) { \
  std::fprintf(stderr, "md:%d %s\n", __LINE__, cudaGetErrorString(m_)); std::abort(); } } while (0)

constexpr int kAtoms = 4096;
constexpr int kSteps = 20;

__device__ unsigned long long g_kinetic;    // fixed point
__device__ float g_scale = 1.0f;
__device__ float g_history[kSteps];

__global__ void beginStep() { g_kinetic = 0; }

__global__ void driftAtoms(float* pos, float* vel, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = vel[i] - 0.05f * pos[i];
  for (long long t = clock64(); clock64() - t < 120000;) {}
  vel[i] = v;
  pos[i] += 0.05f * v;
  atomicAdd(&g_kinetic, static_cast<unsigned long long>(v * v * 1024.f));
}

__global__ void thermostat(int step, float target) {
  const float kinetic = float(g_kinetic) / 1024.f / kAtoms;
  g_scale = kinetic > target ? 0.98f : 1.02f;
  g_history[step] = kinetic;
}

__global__ void rescale(float* vel, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) vel[i] *= g_scale;
}

class StreamSet {
 public:
  cudaStream_t force{}, control{};
  StreamSet() {
    MD_CHECK(cudaStreamCreateWithFlags(&force, cudaStreamNonBlocking));
    MD_CHECK(cudaStreamCreateWithFlags(&control, cudaStreamNonBlocking));
  }
  ~StreamSet() { cudaStreamDestroy(control); cudaStreamDestroy(force); }
};

class Md {
 public:
  Md() {
    MD_CHECK(cudaMalloc(&pos_, kAtoms * sizeof(float)));
    MD_CHECK(cudaMalloc(&vel_, kAtoms * sizeof(float)));
    std::vector<float> p(kAtoms), v(kAtoms);
    for (int i = 0; i < kAtoms; ++i) { p[i] = 0.01f * (i % 100); v[i] = 0.5f + 0.001f * (i % 37); }
    MD_CHECK(cudaMemcpy(pos_, p.data(), kAtoms * sizeof(float), cudaMemcpyHostToDevice));
    MD_CHECK(cudaMemcpy(vel_, v.data(), kAtoms * sizeof(float), cudaMemcpyHostToDevice));
    MD_CHECK(cudaEventCreateWithFlags(&forcesDone_, cudaEventDisableTiming));
    MD_CHECK(cudaEventCreateWithFlags(&controlled_, cudaEventDisableTiming));
    MD_CHECK(cudaDeviceSynchronize());
  }
  ~Md() {
    cudaEventDestroy(controlled_);
    cudaEventDestroy(forcesDone_);
    cudaFree(vel_);
    cudaFree(pos_);
  }
  void step(int n) {
    const int grid = kAtoms / 128;
    beginStep<<<1, 1, 0, s_.force>>>();
    driftAtoms<<<grid, 128, 0, s_.force>>>(pos_, vel_, kAtoms);
    MD_CHECK(cudaEventRecord(forcesDone_, s_.force));
    MD_CHECK(cudaStreamWaitEvent(s_.control, forcesDone_, 0));
    thermostat<<<1, 1, 0, s_.control>>>(n, 0.25f);
    MD_CHECK(cudaEventRecord(controlled_, s_.control));
    MD_CHECK(cudaStreamWaitEvent(s_.force, controlled_, 0));
    rescale<<<grid, 128, 0, s_.force>>>(vel_, kAtoms);
    MD_CHECK(cudaGetLastError());
  }
  double history() {
    MD_CHECK(cudaStreamSynchronize(s_.force));
    MD_CHECK(cudaStreamSynchronize(s_.control));
    float h[kSteps];
    MD_CHECK(cudaMemcpyFromSymbol(h, g_history, sizeof(h)));
    double s = 0;
    for (int i = 0; i < kSteps; ++i) s += h[i] * (i + 1);
    return s;
  }
 private:
  StreamSet s_;
  float *pos_ = nullptr, *vel_ = nullptr;
  cudaEvent_t forcesDone_{}, controlled_{};
};

int main() {
  Md md;
  for (int n = 0; n < kSteps; ++n) md.step(n);
  std::printf("kinetic history %.6f\n", md.history());
  return 0;
}
