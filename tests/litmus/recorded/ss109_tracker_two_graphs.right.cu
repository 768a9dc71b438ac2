// Object tracker: one explicitly built graph predicts the track state, a second one
// rasterises the tracks into an occupancy map. Each lives on its own stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void require(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "tracker.cu:%d %s\n", line, cudaGetErrorString(e));
  std::exit(1);
}
#define REQ(x) require((x), __LINE__)

constexpr int kTracks = 8192;
constexpr int kMap = 256;

struct TrackState { float* pos; float* vel; int count; };

__global__ void predict(TrackState s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long t = clock64();
  while (clock64() - t < 250000) {}
  if (i < s.count) s.pos[i] = fmodf(s.pos[i] + s.vel[i], float(kMap));
}

__global__ void damp(TrackState s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < s.count) s.vel[i] = s.vel[i] * 0.98f + 0.01f * (i & 3);
}

__global__ void clearMap(unsigned* map) { map[threadIdx.x] = 0; }

__global__ void rasterise(TrackState s, unsigned* map) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < s.count) atomicAdd(&map[int(s.pos[i]) & (kMap - 1)], 1u);
}

__global__ void fold(const unsigned* map, unsigned long long* total) {
  atomicAdd(total, static_cast<unsigned long long>(map[threadIdx.x]) * (threadIdx.x * threadIdx.x + 1));
}

// A linear graph assembled kernel by kernel.
class GraphTask {
 public:
  GraphTask() { REQ(cudaGraphCreate(&graph_, 0)); }
  ~GraphTask() {
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
  }
  template <typename... Args>
  void then(void (*kernel)(Args...), dim3 grid, dim3 block, Args... args) {
    void* argv[] = {static_cast<void*>(&args)...};
    cudaKernelNodeParams p{};
    p.func = reinterpret_cast<void*>(kernel);
    p.gridDim = grid;
    p.blockDim = block;
    p.kernelParams = argv;
    cudaGraphNode_t node;
    REQ(cudaGraphAddKernelNode(&node, graph_, last_ ? &last_ : nullptr, last_ ? 1 : 0, &p));
    last_ = node;
  }
  void finalize() { REQ(cudaGraphInstantiate(&exec_, graph_, 0)); }
  void launch(cudaStream_t s) {
    REQ(cudaGraphLaunch(exec_, s));
  }
 private:
  cudaGraph_t graph_{};
  cudaGraphExec_t exec_{};
  cudaGraphNode_t last_{};
};

}  // namespace

int main() {
  TrackState state{nullptr, nullptr, kTracks};
  unsigned* map;
  unsigned long long* total;
  REQ(cudaMalloc(&state.pos, kTracks * sizeof(float)));
  REQ(cudaMalloc(&state.vel, kTracks * sizeof(float)));
  REQ(cudaMalloc(&map, kMap * sizeof(unsigned)));
  REQ(cudaMalloc(&total, sizeof(*total)));
  std::vector<float> pos(kTracks), vel(kTracks);
  for (int i = 0; i < kTracks; ++i) { pos[i] = float(i % kMap); vel[i] = 1.f + (i % 5); }
  REQ(cudaMemcpy(state.pos, pos.data(), kTracks * sizeof(float), cudaMemcpyHostToDevice));
  REQ(cudaMemcpy(state.vel, vel.data(), kTracks * sizeof(float), cudaMemcpyHostToDevice));
  REQ(cudaMemset(total, 0, sizeof(*total)));
  REQ(cudaDeviceSynchronize());

  const dim3 block(128), grid(kTracks / 128);
  GraphTask predictTask, renderTask;
  predictTask.then(predict, grid, block, state);
  predictTask.then(damp, grid, block, state);
  predictTask.finalize();
  renderTask.then(clearMap, dim3(1), dim3(kMap), map);
  renderTask.then(rasterise, grid, block, state, map);
  renderTask.then(fold, dim3(1), dim3(kMap), static_cast<const unsigned*>(map), total);
  renderTask.finalize();

  cudaStream_t tracking, rendering;
  REQ(cudaStreamCreateWithFlags(&tracking, cudaStreamNonBlocking));
  REQ(cudaStreamCreateWithFlags(&rendering, cudaStreamNonBlocking));
  cudaEvent_t predicted, rendered;
  REQ(cudaEventCreateWithFlags(&predicted, cudaEventDisableTiming));
  REQ(cudaEventCreateWithFlags(&rendered, cudaEventDisableTiming));
  for (int frame = 0; frame < 15; ++frame) {
    REQ(cudaStreamWaitEvent(tracking, rendered, 0));
    predictTask.launch(tracking);
    REQ(cudaEventRecord(predicted, tracking));
    REQ(cudaStreamWaitEvent(rendering, predicted, 0));
    renderTask.launch(rendering);
    REQ(cudaEventRecord(rendered, rendering));
  }
  REQ(cudaStreamSynchronize(tracking));
  REQ(cudaStreamSynchronize(rendering));
  unsigned long long h = 0;
  REQ(cudaMemcpy(&h, total, sizeof(h), cudaMemcpyDeviceToHost));
  std::printf("occupancy %llu\n", h);
  cudaEventDestroy(rendered); cudaEventDestroy(predicted);
  cudaStreamDestroy(rendering); cudaStreamDestroy(tracking);
  cudaFree(total); cudaFree(map); cudaFree(state.vel); cudaFree(state.pos);
  return 0;
}
