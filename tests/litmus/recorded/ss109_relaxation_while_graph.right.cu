// Jacobi-like relaxation that loops on the device with a conditional WHILE node.
// A monitor stream archives the solution vector after each solve.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHK(x) do { cudaError_t rc_ = (x); if (rc_ != cudaSuccess) { \
  std::fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(rc_)); std::exit(1); } } while (0)

constexpr int kN = 1024;
constexpr int kSolves = 6;

struct SolveState {
  float* x;
  int* iteration;
  int limit;
};

__global__ void relax(SolveState s, cudaGraphConditionalHandle loop) {
  const int i = threadIdx.x;
  const long long t0 = clock64();
  while (clock64() - t0 < 20000) {
  }
  const float left = s.x[(i + kN - 1) % kN], right = s.x[(i + 1) % kN];
  __syncthreads();
  s.x[i] = 0.5f * (left + right) + 0.001f * i;
  if (i == 0) {
    const int it = ++*s.iteration;
    if (it >= s.limit) cudaGraphSetConditional(loop, 0);
  }
}

class DeviceLoop {
 public:
  explicit DeviceLoop(SolveState s) {
    CHK(cudaGraphCreate(&graph_, 0));
    cudaMemsetParams ms{};
    ms.dst = s.iteration;
    ms.elementSize = sizeof(int);
    ms.width = 1;
    ms.height = 1;
    cudaGraphNode_t reset;
    CHK(cudaGraphAddMemsetNode(&reset, graph_, nullptr, 0, &ms));

    cudaGraphConditionalHandle handle;
    CHK(cudaGraphConditionalHandleCreate(&handle, graph_, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams cp{};
    cp.type = cudaGraphNodeTypeConditional;
    cp.conditional.handle = handle;
    cp.conditional.type = cudaGraphCondTypeWhile;
    cp.conditional.size = 1;
    cudaGraphNode_t loop;
    CHK(cudaGraphAddNode(&loop, graph_, &reset, nullptr, 1, &cp));

    cudaGraph_t body = cp.conditional.phGraph_out[0];
    void* args[] = {&s, &handle};
    cudaKernelNodeParams kp{};
    kp.func = reinterpret_cast<void*>(relax);
    kp.gridDim = dim3(1);
    kp.blockDim = dim3(kN);
    kp.kernelParams = args;
    cudaGraphNode_t node;
    CHK(cudaGraphAddKernelNode(&node, body, nullptr, 0, &kp));
    CHK(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  ~DeviceLoop() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
  }
  void launch(cudaStream_t s) {
    CHK(cudaGraphLaunch(exec_, s));
  }
 private:
  cudaGraph_t graph_{};
  cudaGraphExec_t exec_{};
};

class Archive {
 public:
  Archive() {
    CHK(cudaMallocHost(&host_, kSolves * kN * sizeof(float)));
    CHK(cudaStreamCreateWithFlags(&monitor_, cudaStreamNonBlocking));
    CHK(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming));
  }
  ~Archive() {
    cudaEventDestroy(copied_);
    cudaStreamDestroy(monitor_);
    cudaFreeHost(host_);
  }
  void after(cudaEvent_t solved) { CHK(cudaStreamWaitEvent(monitor_, solved, 0)); }
  void store(const float* x, int solve) {
    CHK(cudaMemcpyAsync(host_ + solve * kN, x, kN * sizeof(float), cudaMemcpyDeviceToHost, monitor_));
    CHK(cudaEventRecord(copied_, monitor_));
  }
  cudaEvent_t copied() const { return copied_; }
  double checksum() {
    CHK(cudaStreamSynchronize(monitor_));
    double s = 0;
    for (int i = 0; i < kSolves * kN; ++i) s += host_[i] * double(1 + i % 29);
    return s;
  }
 private:
  float* host_ = nullptr;
  cudaStream_t monitor_{};
  cudaEvent_t copied_{};
};

int main() {
  SolveState s{nullptr, nullptr, 40};
  CHK(cudaMalloc(&s.x, kN * sizeof(float)));
  CHK(cudaMalloc(&s.iteration, sizeof(int)));
  CHK(cudaMemset(s.x, 0, kN * sizeof(float)));
  CHK(cudaDeviceSynchronize());
  cudaStream_t solve;
  cudaEvent_t solved;
  CHK(cudaStreamCreateWithFlags(&solve, cudaStreamNonBlocking));
  CHK(cudaEventCreateWithFlags(&solved, cudaEventDisableTiming));
  {
    DeviceLoop loop(s);
    Archive archive;
    for (int k = 0; k < kSolves; ++k) {
      CHK(cudaStreamWaitEvent(solve, archive.copied(), 0));
      loop.launch(solve);
      CHK(cudaEventRecord(solved, solve));
      archive.after(solved);
      archive.store(s.x, k);
    }
    CHK(cudaStreamSynchronize(solve));
    std::printf("archive %.4f\n", archive.checksum());
  }
  cudaEventDestroy(solved);
  cudaStreamDestroy(solve);
  cudaFree(s.iteration);
  cudaFree(s.x);
  return 0;
}
