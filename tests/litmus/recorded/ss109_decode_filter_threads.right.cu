// Two threads, each working in its own cudaStreamPerThread: a decoder produces frames,
// a filter thread consumes them. Frames circulate through two queues.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#define PT(x)                                                                     \
  do {                                                                            \
    cudaError_t pt_ = (x);                                                        \
    if (pt_ != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s, line %d: %s\n", #x, __LINE__, cudaGetErrorString(pt_)); \
      std::abort();                                                               \
    }                                                                             \
  } while (0)

constexpr int kPixels = 1 << 15;
constexpr int kRing = 3;
constexpr int kFrames = 20;

struct Frame {
  float* pixels = nullptr;
  int number = -1;
  cudaEvent_t ready{};
  cudaEvent_t consumed{};
};

template <typename T>
class Channel {
 public:
  void send(T v) {
    { std::lock_guard<std::mutex> g(m_); q_.push_back(v); }
    cv_.notify_one();
  }
  T receive() {
    std::unique_lock<std::mutex> g(m_);
    cv_.wait(g, [this] { return !q_.empty(); });
    T v = q_.front();
    q_.pop_front();
    return v;
  }
 private:
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<T> q_;
};

__global__ void decode(float* pixels, int number) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const long long t0 = clock64();
  while (clock64() - t0 < 150000) {
  }
  pixels[i] = float((i + number * 29) % 83);
}

__global__ void filter(const float* pixels, unsigned long long* energy, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float l = pixels[i > 0 ? i - 1 : 0], r = pixels[i + 1 < n ? i + 1 : n - 1];
  atomicAdd(energy, static_cast<unsigned long long>(fabsf(2 * pixels[i] - l - r) + pixels[i]));
}

class Decoder {
 public:
  Decoder(Channel<Frame*>& in, Channel<Frame*>& out) : in_(in), out_(out) {}
  void operator()() {
    PT(cudaSetDevice(0));
    for (int f = 0; f < kFrames; ++f) {
      Frame* frame = in_.receive();
      PT(cudaStreamWaitEvent(cudaStreamPerThread, frame->consumed, 0));
      decode<<<kPixels / 256, 256, 0, cudaStreamPerThread>>>(frame->pixels, f);
      PT(cudaEventRecord(frame->ready, cudaStreamPerThread));
      frame->number = f;
      out_.send(frame);
    }
    PT(cudaStreamSynchronize(cudaStreamPerThread));
  }
 private:
  Channel<Frame*>&in_, &out_;
};

class Filter {
 public:
  Filter(Channel<Frame*>& in, Channel<Frame*>& out, unsigned long long* energy) : in_(in), out_(out), energy_(energy) {}
  void operator()() {
    PT(cudaSetDevice(0));
    for (int f = 0; f < kFrames; ++f) {
      Frame* frame = in_.receive();
      PT(cudaStreamWaitEvent(cudaStreamPerThread, frame->ready, 0));
      filter<<<kPixels / 256, 256, 0, cudaStreamPerThread>>>(frame->pixels, energy_ + frame->number, kPixels);
      PT(cudaEventRecord(frame->consumed, cudaStreamPerThread));
      out_.send(frame);
    }
    PT(cudaStreamSynchronize(cudaStreamPerThread));
  }
 private:
  Channel<Frame*>&in_, &out_;
  unsigned long long* energy_;
};

int main() {
  Channel<Frame*> idle, filled;
  std::vector<Frame> ring(kRing);
  unsigned long long* energy;
  PT(cudaMalloc(&energy, kFrames * sizeof(*energy)));
  PT(cudaMemset(energy, 0, kFrames * sizeof(*energy)));
  for (Frame& f : ring) {
    PT(cudaMalloc(&f.pixels, kPixels * sizeof(float)));
    PT(cudaMemset(f.pixels, 0, kPixels * sizeof(float)));
    PT(cudaEventCreateWithFlags(&f.ready, cudaEventDisableTiming));
    PT(cudaEventCreateWithFlags(&f.consumed, cudaEventDisableTiming));
    idle.send(&f);
  }
  PT(cudaDeviceSynchronize());
  std::thread a{Decoder(idle, filled)}, b{Filter(filled, idle, energy)};
  a.join();
  b.join();
  std::vector<unsigned long long> h(kFrames);
  PT(cudaMemcpy(h.data(), energy, kFrames * sizeof(h[0]), cudaMemcpyDeviceToHost));
  unsigned long long d = 0;
  for (auto v : h) d = d * 31 + v;
  std::printf("energy digest %016llx\n", d);
  for (Frame& f : ring) { cudaEventDestroy(f.consumed); cudaEventDestroy(f.ready); cudaFree(f.pixels); }
  cudaFree(energy);
  return 0;
}
