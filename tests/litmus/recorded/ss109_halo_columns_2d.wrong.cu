// 2D domain split into a west and an east block on one device. Edge columns are
// exchanged with strided copies while the interior receives its source term.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

static inline void must(cudaError_t rc, int line) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(rc));
    std::exit(3);
  }
}
#define MUST(x) must((x), __LINE__)

constexpr int kNx = 130;   // with one halo column per side
constexpr int kNy = 256;
constexpr int kSteps = 30;

struct Block {
  float* u = nullptr;
  size_t pitch = 0;   // bytes
  void allocate() {
    MUST(cudaMallocPitch(reinterpret_cast<void**>(&u), &pitch, kNx * sizeof(float), kNy));
    MUST(cudaMemset2D(u, pitch, 0, kNx * sizeof(float), kNy));
  }
  int stride() const { return static_cast<int>(pitch / sizeof(float)); }
  float* column(int c) const { return u + c; }
  void release() { cudaFree(u); }
};

__device__ void delay(int cycles) {
  for (long long t = clock64(); clock64() - t < cycles;) {}
}

__global__ void addSource(float* u, int stride, int c0, int c1, float q) {
  int c = c0 + blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y;
  if (c < c1) u[r * stride + c] = u[r * stride + c] * 0.99f + q * (1 + (r & 3));
}

__global__ void relaxEdges(float* u, int stride, float q) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= kNy) return;
  delay(60000);
  float* row = u + r * stride;
  row[1] = 0.5f * (row[0] + row[1]) + q;
  row[kNx - 2] = 0.5f * (row[kNx - 1] + row[kNx - 2]) + q;
}

class HaloSolver {
 public:
  HaloSolver() {
    west_.allocate();
    east_.allocate();
    MUST(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&comm_, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&halosReady_, cudaEventDisableTiming));
    MUST(cudaEventCreateWithFlags(&edgesDone_, cudaEventDisableTiming));
    MUST(cudaDeviceSynchronize());
  }

  void exchange() {
    // west's last owned column -> east's left halo, and back
    MUST(cudaMemcpy2DAsync(east_.column(0), east_.pitch, west_.column(kNx - 2), west_.pitch,
                           sizeof(float), kNy, cudaMemcpyDeviceToDevice, comm_));
    MUST(cudaMemcpy2DAsync(west_.column(kNx - 1), west_.pitch, east_.column(1), east_.pitch,
                           sizeof(float), kNy, cudaMemcpyDeviceToDevice, comm_));
    MUST(cudaEventRecord(halosReady_, comm_));
  }

  void step(float q) {
    MUST(cudaStreamWaitEvent(comm_, edgesDone_, 0));
    exchange();
    const int first = 2;
    const int last = kNx - 1;
    dim3 grid((last - first + 63) / 64, kNy);
    addSource<<<grid, 64, 0, compute_>>>(west_.u, west_.stride(), first, last, q);  // expect: SS109
    addSource<<<grid, 64, 0, compute_>>>(east_.u, east_.stride(), first, last, -q);
    MUST(cudaStreamWaitEvent(compute_, halosReady_, 0));
    relaxEdges<<<(kNy + 127) / 128, 128, 0, compute_>>>(west_.u, west_.stride(), q);
    relaxEdges<<<(kNy + 127) / 128, 128, 0, compute_>>>(east_.u, east_.stride(), -q);
    MUST(cudaEventRecord(edgesDone_, compute_));
  }

  double checksum() {
    MUST(cudaDeviceSynchronize());
    std::vector<float> h(kNx * kNy);
    double s = 0;
    for (const Block* b : {&west_, &east_}) {
      MUST(cudaMemcpy2D(h.data(), kNx * sizeof(float), b->u, b->pitch, kNx * sizeof(float), kNy,
                        cudaMemcpyDeviceToHost));
      for (size_t i = 0; i < h.size(); ++i) s += h[i] * (1 + i % 13);
    }
    return s;
  }

  ~HaloSolver() {
    west_.release();
    east_.release();
    cudaEventDestroy(edgesDone_);
    cudaEventDestroy(halosReady_);
    cudaStreamDestroy(comm_);
    cudaStreamDestroy(compute_);
  }

 private:
  Block west_, east_;
  cudaStream_t compute_{}, comm_{};
  cudaEvent_t halosReady_{}, edgesDone_{};
};

int main() {
  HaloSolver solver;
  for (int s = 0; s < kSteps; ++s) solver.step(0.01f * (s + 1));
  std::printf("field checksum %.4f\n", solver.checksum());
  return 0;
}
