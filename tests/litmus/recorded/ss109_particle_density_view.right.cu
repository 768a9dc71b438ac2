// Particle simulation with a live density view. Particle state is double buffered
// and both sets travel to the kernels inside one by-value parameter block.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPU(call)                                                     \
  if (cudaError_t e = (call); e != cudaSuccess) {                     \
    std::printf("%s failed: %s\n", #call, cudaGetErrorString(e));     \
    std::abort();                                                     \
  }

constexpr int kParticles = 1 << 14;
constexpr int kCells = 64;
constexpr int kSteps = 20;

struct ParticleSet {
  float* x;
  float* v;
};

struct SimArgs {
  ParticleSet sets[2];
  int count;
  float dt;
};

__device__ void work(int cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
}

__global__ void integrate(SimArgs args, int from, int to) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= args.count) return;
  float x = args.sets[from].x[i];
  float v = args.sets[from].v[i];
  work(200000);
  v -= x * args.dt;
  args.sets[to].v[i] = v;
  args.sets[to].x[i] = x + v * args.dt;
}

__global__ void depositDensity(SimArgs args, int which, unsigned* cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= args.count) return;
  float x = args.sets[which].x[i];
  int c = static_cast<int>((x + 2.0f) * 0.25f * kCells);
  c = min(max(c, 0), kCells - 1);
  atomicAdd(&cells[c], 1u);
}

class Simulation {
 public:
  Simulation() {
    for (ParticleSet& s : args_.sets) {
      GPU(cudaMalloc(&s.x, kParticles * sizeof(float)));
      GPU(cudaMalloc(&s.v, kParticles * sizeof(float)));
    }
    args_.count = kParticles;
    args_.dt = 0.2f;
    GPU(cudaMalloc(&cells_, kSteps * kCells * sizeof(unsigned)));
    GPU(cudaMemset(cells_, 0, kSteps * kCells * sizeof(unsigned)));
    std::vector<float> x(kParticles), v(kParticles, 0.5f);
    for (int i = 0; i < kParticles; ++i) x[i] = -1.f + 2.f * i / kParticles;
    for (ParticleSet& s : args_.sets) {
      GPU(cudaMemcpy(s.x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
      GPU(cudaMemcpy(s.v, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice));
    }
    GPU(cudaStreamCreateWithFlags(&sim_, cudaStreamNonBlocking));
    GPU(cudaStreamCreateWithFlags(&view_, cudaStreamNonBlocking));
    GPU(cudaEventCreateWithFlags(&stepped_, cudaEventDisableTiming));
    GPU(cudaEventCreateWithFlags(&viewed_, cudaEventDisableTiming));
    GPU(cudaDeviceSynchronize());
  }

  void step(int n) {
    const int cur = n & 1, next = cur ^ 1;
    const dim3 block(128), grid((kParticles + 127) / 128);
    GPU(cudaStreamWaitEvent(view_, stepped_, 0));   // previous step
    GPU(cudaStreamWaitEvent(sim_, viewed_, 0));     // previous view
    integrate<<<grid, block, 0, sim_>>>(args_, cur, next);
    GPU(cudaEventRecord(stepped_, sim_));
    depositDensity<<<grid, block, 0, view_>>>(args_, cur, cells_ + n * kCells);
    GPU(cudaEventRecord(viewed_, view_));
  }

  unsigned long long checksum() {
    GPU(cudaDeviceSynchronize());
    std::vector<unsigned> h(kSteps * kCells);
    GPU(cudaMemcpy(h.data(), cells_, h.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    unsigned long long s = 0;
    for (size_t i = 0; i < h.size(); ++i) s += static_cast<unsigned long long>(h[i]) * (i + 1);
    return s;
  }

  ~Simulation() {
    cudaEventDestroy(viewed_);
    cudaEventDestroy(stepped_);
    cudaStreamDestroy(view_);
    cudaStreamDestroy(sim_);
    for (ParticleSet& s : args_.sets) { cudaFree(s.x); cudaFree(s.v); }
    cudaFree(cells_);
  }

 private:
  SimArgs args_{};
  unsigned* cells_ = nullptr;
  cudaStream_t sim_{}, view_{};
  cudaEvent_t stepped_{}, viewed_{};
};

int main() {
  Simulation sim;
  for (int n = 0; n < kSteps; ++n) sim.step(n);
  std::printf("density checksum %llu\n", sim.checksum());
}
