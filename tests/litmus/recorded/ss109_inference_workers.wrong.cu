// Tiny inference server: two worker threads, one stream each, jobs routed by id.
// Every worker owns a slice of one big activation workspace.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    std::exit(2);
  }
}
#define CK(x) check((x), #x)

constexpr int kWorkers = 2;
constexpr int kRows = 32;
constexpr int kHidden = 128;
constexpr int kJobs = 16;

struct LayerArgs {
  const float* in;
  float* act;     // workspace slice
  float* out;
  float bias;
};

__device__ inline void stall(long long c) {
  long long s = clock64();
  while (clock64() - s < c) ;
}

__global__ void hiddenLayer(LayerArgs a) {
  int r = blockIdx.x, h = threadIdx.x;
  a.act[r * kHidden + h] = fmaxf(a.in[r] * 0.5f + a.bias + h * 0.01f, 0.f);
}

__global__ void outputLayer(LayerArgs a) {
  __shared__ float s[kHidden];
  int r = blockIdx.x, h = threadIdx.x;
  stall(150000);
  s[h] = a.act[r * kHidden + h];
  __syncthreads();
  for (int k = kHidden / 2; k > 0; k >>= 1) {
    if (h < k) s[h] += s[h + k];
    __syncthreads();
  }
  if (h == 0) a.out[r] = s[0];
}

struct Job { int id; const float* in; float* out; bool stop = false; };

class JobQueue {
 public:
  void post(Job j) {
    { std::lock_guard<std::mutex> g(m_); q_.push_back(j); }
    cv_.notify_one();
  }
  Job take() {
    std::unique_lock<std::mutex> g(m_);
    cv_.wait(g, [this] { return !q_.empty(); });
    Job j = q_.front();
    q_.pop_front();
    return j;
  }
 private:
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<Job> q_;
};

class Worker {
 public:
  Worker(int index, float* workspace)
      : slice_(workspace + static_cast<size_t>(index) * kHidden) {
    CK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    thread_ = std::thread([this] { loop(); });
  }
  void post(const Job& j) { queue_.post(j); }
  void join() { thread_.join(); }
  ~Worker() { cudaStreamSynchronize(stream_); cudaStreamDestroy(stream_); }

 private:
  void loop() {
    CK(cudaSetDevice(0));
    for (;;) {
      Job j = queue_.take();
      if (j.stop) break;
      LayerArgs args{j.in, slice_, j.out, float(j.id)};
      hiddenLayer<<<kRows, kHidden, 0, stream_>>>(args);  // expect: SS109
      outputLayer<<<kRows, kHidden, 0, stream_>>>(args);  // expect: SS109
      CK(cudaGetLastError());
    }
  }
  float* slice_;
  cudaStream_t stream_{};
  JobQueue queue_;
  std::thread thread_;
};

int main() {
  float *workspace, *inputs, *outputs;
  CK(cudaMalloc(&workspace, kWorkers * kRows * kHidden * sizeof(float)));
  CK(cudaMalloc(&inputs, kRows * sizeof(float)));
  CK(cudaMalloc(&outputs, kJobs * kRows * sizeof(float)));
  std::vector<float> host(kRows);
  for (int i = 0; i < kRows; ++i) host[i] = 0.1f * i;
  CK(cudaMemcpy(inputs, host.data(), kRows * sizeof(float), cudaMemcpyHostToDevice));
  CK(cudaDeviceSynchronize());
  {
    Worker w0(0, workspace), w1(1, workspace);
    for (int id = 0; id < kJobs; ++id) {
      Worker& w = (id & 1) ? w1 : w0;
      w.post(Job{id, inputs, outputs + id * kRows});
    }
    w0.post(Job{-1, nullptr, nullptr, true});
    w1.post(Job{-1, nullptr, nullptr, true});
    w0.join();
    w1.join();
  }
  std::vector<float> result(kJobs * kRows);
  CK(cudaMemcpy(result.data(), outputs, result.size() * sizeof(float), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (size_t i = 0; i < result.size(); ++i) sum += result[i] * (1 + i % 7);
  std::printf("served %d jobs, checksum %.3f\n", kJobs, sum);
  cudaFree(outputs); cudaFree(inputs); cudaFree(workspace);
  return 0;
}
