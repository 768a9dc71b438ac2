// Ray caster: batches of rays are intersected on rotating streams, hits come back to
// pinned memory and are shaded by a host thread in submission order.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#define CUDA_ENSURE(x) do { const cudaError_t e = (x); if (e != cudaSuccess) { \
  std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); std::abort(); } } while (0)

struct Hit { float t; int sphere; };

constexpr int kRays = 1 << 18;
constexpr int kBatches = 8;
constexpr int kStreams = 3;

__global__ void intersect(Hit* hits, int n, int batch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long t0 = clock64();
  while (clock64() - t0 < 150000) {
  }
  if (i >= n) return;
  float best = 1e9f;
  int id = -1;
  for (int s = 0; s < 8; ++s) {
    float cx = float((s * 37 + batch * 5) % 64) - 32.f;
    float dx = (i % 181) * 0.35f - 32.f - cx;
    float d = dx * dx;
    if (d < 16.f && 20.f + s - sqrtf(16.f - d) < best) { best = 20.f + s - sqrtf(16.f - d); id = s; }
  }
  hits[i] = Hit{best, id};
}

struct Batch {
  Hit* device = nullptr;
  Hit* host = nullptr;    // pinned
  cudaEvent_t complete{};
  Batch() {
    CUDA_ENSURE(cudaMalloc(&device, kRays * sizeof(Hit)));
    CUDA_ENSURE(cudaHostAlloc(&host, kRays * sizeof(Hit), cudaHostAllocPortable));
    CUDA_ENSURE(cudaEventCreateWithFlags(&complete, cudaEventDisableTiming));
    for (int i = 0; i < kRays; ++i) host[i] = Hit{0.f, -2};
  }
  ~Batch() {
    cudaEventDestroy(complete);
    cudaFreeHost(host);
    cudaFree(device);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
};

class Shader {
 public:
  Shader() : thread_([this] { loop(); }) {}
  void submit(Batch* b) {
    std::lock_guard<std::mutex> g(m_);
    q_.push_back(b);
    cv_.notify_one();
  }
  double finish() {
    submit(nullptr);
    thread_.join();
    return radiance_;
  }
 private:
  Batch* next() {
    std::unique_lock<std::mutex> g(m_);
    cv_.wait(g, [this] { return !q_.empty(); });
    Batch* b = q_.front();
    q_.pop_front();
    return b;
  }
  void loop() {
    CUDA_ENSURE(cudaSetDevice(0));
    while (Batch* b = next()) {
      CUDA_ENSURE(cudaEventSynchronize(b->complete));
      for (int i = kRays - 1; i >= 0; --i)
        if (b->host[i].sphere >= 0) radiance_ += (b->host[i].sphere + 1) / double(b->host[i].t);
    }
  }
  double radiance_ = 0;
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<Batch*> q_;
  std::thread thread_;
};

static void castBatch(Batch& b, int index, cudaStream_t s) {
  intersect<<<kRays / 256, 256, 0, s>>>(b.device, kRays, index);
  CUDA_ENSURE(cudaMemcpyAsync(b.host, b.device, kRays * sizeof(Hit), cudaMemcpyDeviceToHost, s));
  CUDA_ENSURE(cudaEventRecord(b.complete, s));
}

int main() {
  std::vector<Batch> batches(kBatches);
  cudaStream_t pool[kStreams];
  for (auto& s : pool) CUDA_ENSURE(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CUDA_ENSURE(cudaDeviceSynchronize());
  Shader shader;
  for (int i = 0; i < kBatches; ++i) {
    castBatch(batches[i], i, pool[i % kStreams]);
    shader.submit(&batches[i]);
  }
  const double radiance = shader.finish();
  for (auto& s : pool) {
    CUDA_ENSURE(cudaStreamSynchronize(s));
    cudaStreamDestroy(s);
  }
  std::printf("radiance %.6f\n", radiance);
  return 0;
}
