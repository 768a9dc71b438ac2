// Parameter server: each step publishes new parameters; a checkpoint stream takes
// snapshots to pinned memory and a writer thread digests them.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#define RT(x) do { cudaError_t r_ = (x); if (r_ != cudaSuccess) { \
  fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(r_)); abort(); } } while (0)

constexpr size_t kParams = 2u << 20;
constexpr int kSteps = 8;

__global__ void applyGradient(float* staged, size_t n, int step) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    staged[i] = float(step * 16 + (i & 15));
}

class CheckpointWriter {
 public:
  CheckpointWriter(const float* slots, cudaEvent_t* ready) : slots_(slots), ready_(ready), thread_([this] { run(); }) {}
  void enqueue(int step) {
    { std::lock_guard<std::mutex> lk(m_); q_.push(step); }
    cv_.notify_one();
  }
  uint64_t close() {
    enqueue(-1);
    thread_.join();
    return digest_;
  }
 private:
  void run() {
    RT(cudaSetDevice(0));
    for (;;) {
      int step;
      {
        std::unique_lock<std::mutex> lk(m_);
        cv_.wait(lk, [this] { return !q_.empty(); });
        step = q_.front();
        q_.pop();
      }
      if (step < 0) return;
      RT(cudaEventSynchronize(ready_[step]));
      const float* p = slots_ + size_t(step) * kParams;
      for (size_t i = 0; i < kParams; i += 61) digest_ = digest_ * 1099511628211ull + uint64_t(p[i]);
    }
  }
  const float* slots_;
  cudaEvent_t* ready_;
  uint64_t digest_ = 1469598103934665603ull;
  std::mutex m_;
  std::condition_variable cv_;
  std::queue<int> q_;
  std::thread thread_;
};

class ParameterServer {
 public:
  ParameterServer() : snapped_(kSteps) {
    RT(cudaMalloc(&params_, kParams * sizeof(float)));
    RT(cudaMalloc(&staged_, kParams * sizeof(float)));
    RT(cudaMallocHost(&slots_, kSteps * kParams * sizeof(float)));
    RT(cudaStreamCreateWithFlags(&train_, cudaStreamNonBlocking));
    RT(cudaStreamCreateWithFlags(&ckpt_, cudaStreamNonBlocking));
    RT(cudaEventCreateWithFlags(&published_, cudaEventDisableTiming));
    for (auto& e : snapped_) RT(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    RT(cudaDeviceSynchronize());
  }
  ~ParameterServer() {
    cudaDeviceSynchronize();
    for (auto e : snapped_) cudaEventDestroy(e);
    cudaEventDestroy(published_);
    cudaStreamDestroy(ckpt_);
    cudaStreamDestroy(train_);
    cudaFreeHost(slots_);
    cudaFree(staged_);
    cudaFree(params_);
  }
  void step(int s) {
    applyGradient<<<64, 256, 0, train_>>>(staged_, kParams, s);
    RT(cudaMemcpyAsync(params_, staged_, kParams * sizeof(float), cudaMemcpyDeviceToDevice, train_));  // expect: SS109
    RT(cudaEventRecord(published_, train_));
    RT(cudaStreamWaitEvent(ckpt_, published_, 0));
    RT(cudaMemcpyAsync(slots_ + s * kParams, params_, kParams * sizeof(float), cudaMemcpyDeviceToHost, ckpt_));
    RT(cudaEventRecord(snapped_[s], ckpt_));
  }
  const float* slots() const { return slots_; }
  cudaEvent_t* events() { return snapped_.data(); }
 private:
  float *params_ = nullptr, *staged_ = nullptr, *slots_ = nullptr;
  cudaStream_t train_{}, ckpt_{};
  cudaEvent_t published_{};
  std::vector<cudaEvent_t> snapped_;
};

int main() {
  ParameterServer server;
  CheckpointWriter writer(server.slots(), server.events());
  for (int s = 0; s < kSteps; ++s) {
    server.step(s);
    writer.enqueue(s);
  }
  printf("snapshot digest %016llx\n", static_cast<unsigned long long>(writer.close()));
  return 0;
}
