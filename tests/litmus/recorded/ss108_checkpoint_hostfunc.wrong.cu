// Checkpoint writer: state is copied to pinned slots; a host function in the stream
// announces the slot to the writer thread through a condition variable.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
  std::fprintf(stderr, "ckpt %d: %s\n", __LINE__, cudaGetErrorString(e)); std::exit(1); } } while (0)

namespace ckpt {

constexpr size_t kState = 2 << 20;   // floats
constexpr int kSaves = 6;

__global__ void evolve(float* state, size_t n, int step) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    state[i] = state[i] * 0.5f + float((i + step) & 31);
}

class Announcer {
 public:
  void announce(int slot) {
    { std::lock_guard<std::mutex> g(m_); last_ = slot; }
    cv_.notify_all();
  }
  void waitFor(int slot) {
    std::unique_lock<std::mutex> g(m_);
    cv_.wait(g, [&] { return last_ >= slot; });
  }
 private:
  std::mutex m_;
  std::condition_variable cv_;
  int last_ = -1;
};

struct Ticket { Announcer* announcer; int slot; };

static void CUDART_CB onSlotReady(void* p) {
  auto* t = static_cast<Ticket*>(p);
  t->announcer->announce(t->slot);
}

class Writer {
 public:
  Writer(const float* slots, Announcer& a) : slots_(slots), announcer_(a), thread_([this] { run(); }) {}
  uint64_t join() { thread_.join(); return crc_; }
 private:
  void run() {
    for (int s = 0; s < kSaves; ++s) {
      announcer_.waitFor(s);
      const float* p = slots_ + s * kState;
      for (size_t i = kState; i-- > 0;) {
        if (i % 17 == 0) crc_ = crc_ * 6364136223846793005ull + uint64_t(p[i] * 64.f);  // expect: SS108
      }
    }
  }
  const float* slots_;
  Announcer& announcer_;
  uint64_t crc_ = 1;
  std::thread thread_;
};

class Simulation {
 public:
  explicit Simulation(Announcer& a) {
    CK(cudaMalloc(&state_, kState * sizeof(float)));
    CK(cudaMemset(state_, 0, kState * sizeof(float)));
    CK(cudaMallocHost(&slots_, kSaves * kState * sizeof(float)));
    for (size_t i = 0; i < kSaves * kState; ++i) slots_[i] = 0;
    for (int s = 0; s < kSaves; ++s) tickets_.push_back(Ticket{&a, s});
    CK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CK(cudaDeviceSynchronize());
  }
  ~Simulation() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
    cudaFreeHost(slots_);
    cudaFree(state_);
  }
  void save(int s) {
    evolve<<<64, 256, 0, stream_>>>(state_, kState, s);
    CK(cudaLaunchHostFunc(stream_, onSlotReady, &tickets_[s]));
    CK(cudaMemcpyAsync(slots_ + s * kState, state_, kState * sizeof(float), cudaMemcpyDeviceToHost, stream_));
  }
  const float* slots() const { return slots_; }
 private:
  float *state_ = nullptr, *slots_ = nullptr;
  std::vector<Ticket> tickets_;
  cudaStream_t stream_{};
};

}  // namespace ckpt

int main() {
  ckpt::Announcer announcer;
  ckpt::Simulation sim(announcer);
  ckpt::Writer writer(sim.slots(), announcer);
  for (int s = 0; s < ckpt::kSaves; ++s) sim.save(s);
  std::printf("checkpoint crc %016llx\n", static_cast<unsigned long long>(writer.join()));
  return 0;
}
