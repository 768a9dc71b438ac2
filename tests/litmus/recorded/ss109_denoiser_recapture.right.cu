// Denoiser with a captured graph and a block pool shared with a thumbnailer. When the
// denoiser is reconfigured it swaps its scratch block and captures its graph again.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OKAY(x) do { if ((x) != cudaSuccess) { std::fprintf(stderr, "%s failed at %d\n", #x, __LINE__); std::exit(1); } } while (0)

constexpr int kCount = 1 << 14;

class BlockPool {
 public:
  explicit BlockPool(int blocks) {
    for (int i = 0; i < blocks; ++i) {
      float* p;
      OKAY(cudaMalloc(&p, kCount * sizeof(float)));
      OKAY(cudaMemset(p, 0, kCount * sizeof(float)));
      all_.push_back(p);
      free_.insert(free_.begin(), p);
    }
  }
  ~BlockPool() { for (float* p : all_) cudaFree(p); }
  float* acquire() { float* p = free_.back(); free_.pop_back(); return p; }
  void release(float* p) { free_.push_back(p); }
 private:
  std::vector<float*> all_, free_;
};

__global__ void blur(const float* in, float* scratch, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float l = in[i > 0 ? i - 1 : 0], r = in[i + 1 < n ? i + 1 : n - 1];
  long long t = clock64();
  while (clock64() - t < 100000) {}
  scratch[i] = 0.25f * l + 0.5f * in[i] + 0.25f * r;
}

__global__ void unsharp(float* img, const float* scratch, float k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) img[i] = scratch[i] + k * (img[i] - scratch[i]);
}

__global__ void shrink(float* thumb, int n, int frame) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) thumb[i] = float((i + frame) & 63);
}

__global__ void sumThumb(float* thumb, int n, double* out) {
  long long t = clock64();
  while (clock64() - t < 200000) {}
  double a = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) a += thumb[i];
  atomicAdd(out, a);
}

class Denoiser {
 public:
  Denoiser(BlockPool& pool, float* img) : pool_(pool), img_(img), scratch_(pool.acquire()) {
    OKAY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cudaGraph_t g = capture(0.5f);
    OKAY(cudaGraphInstantiate(&exec_, g, 0));
    OKAY(cudaGraphDestroy(g));
  }
  ~Denoiser() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaStreamDestroy(stream_);
    pool_.release(scratch_);
  }
  void reconfigure(float strength) {
    OKAY(cudaStreamSynchronize(stream_));
    float* fresh = pool_.acquire();
    pool_.release(scratch_);
    scratch_ = fresh;
    cudaGraph_t g = capture(strength);
    cudaGraphExecUpdateResultInfo info{};
    OKAY(cudaGraphExecUpdate(exec_, g, &info));
    OKAY(cudaGraphDestroy(g));
  }
  void run() {
    OKAY(cudaGraphLaunch(exec_, stream_));
  }
  void finish() { OKAY(cudaStreamSynchronize(stream_)); }

 private:
  cudaGraph_t capture(float strength) {
    cudaGraph_t g;
    OKAY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    blur<<<kCount / 256, 256, 0, stream_>>>(img_, scratch_, kCount);
    unsharp<<<kCount / 256, 256, 0, stream_>>>(img_, scratch_, strength, kCount);
    OKAY(cudaStreamEndCapture(stream_, &g));
    return g;
  }
  BlockPool& pool_;
  float* img_;
  float* scratch_;
  cudaStream_t stream_{};
  cudaGraphExec_t exec_{};
};

int main() {
  BlockPool pool(3);
  float* img = pool.acquire();
  double* sums;
  OKAY(cudaMalloc(&sums, sizeof(double)));
  OKAY(cudaMemset(sums, 0, sizeof(double)));
  cudaStream_t thumbs;
  OKAY(cudaStreamCreateWithFlags(&thumbs, cudaStreamNonBlocking));
  OKAY(cudaDeviceSynchronize());
  {
    Denoiser dn(pool, img);
    for (int f = 0; f < 4; ++f) dn.run();
    dn.reconfigure(0.75f);
    float* thumb = pool.acquire();
    for (int f = 0; f < 8; ++f) {
      dn.run();
      shrink<<<kCount / 256, 256, 0, thumbs>>>(thumb, kCount, f);
      sumThumb<<<1, 256, 0, thumbs>>>(thumb, kCount, sums);
    }
    OKAY(cudaStreamSynchronize(thumbs));
    dn.finish();
  }
  double h = 0;
  OKAY(cudaMemcpy(&h, sums, sizeof(h), cudaMemcpyDeviceToHost));
  std::printf("thumbnail sum %.1f\n", h);
  cudaStreamDestroy(thumbs);
  cudaFree(sums);
  return 0;
}
