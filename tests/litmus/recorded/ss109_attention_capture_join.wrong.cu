// Training step captured from two streams: the attention mask is built on a side
// stream while the scores are computed on the main one.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define C(x) do { cudaError_t c_ = (x); if (c_) { std::fprintf(stderr, "%s @%d %s\n", #x, __LINE__, cudaGetErrorString(c_)); std::exit(1); } } while (0)

constexpr int kSeq = 128;
constexpr int kCells = kSeq * kSeq;

struct StepBuffers {
  float* scores;
  float* mask;
  float* context;
  int* step;
};

__global__ void computeScores(StepBuffers b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCells) b.scores[i] = float((i * 31 + *b.step * 7) % 64);
}

__global__ void buildMask(StepBuffers b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long t = clock64();
  while (clock64() - t < 400000) {}
  if (i < kCells) b.mask[i] = (i % kSeq) <= (i / kSeq) + (*b.step % 5) ? 1.f : 0.f;
}

__global__ void attend(StepBuffers b) {
  int row = blockIdx.x;
  __shared__ float s[kSeq];
  s[threadIdx.x] = b.scores[row * kSeq + threadIdx.x] * b.mask[row * kSeq + threadIdx.x];
  __syncthreads();
  for (int k = kSeq / 2; k; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) b.context[row] += s[0];
}

__global__ void nextStep(StepBuffers b) { *b.step += 1; }

class ScopedStream {
 public:
  ScopedStream() { C(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~ScopedStream() { cudaStreamDestroy(s_); }
  operator cudaStream_t() const { return s_; }
 private:
  cudaStream_t s_{};
};

class ScopedEvent {
 public:
  ScopedEvent() { C(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~ScopedEvent() { cudaEventDestroy(e_); }
  operator cudaEvent_t() const { return e_; }
 private:
  cudaEvent_t e_{};
};

static cudaGraphExec_t captureStep(cudaStream_t mainStream, cudaStream_t side, const StepBuffers& b) {
  ScopedEvent forked, masked;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  C(cudaStreamBeginCapture(mainStream, cudaStreamCaptureModeRelaxed));
  C(cudaEventRecord(forked, mainStream));
  C(cudaStreamWaitEvent(side, forked, 0));
  buildMask<<<kCells / 256, 256, 0, side>>>(b);
  C(cudaEventRecord(masked, side));
  computeScores<<<kCells / 256, 256, 0, mainStream>>>(b);
  attend<<<kSeq, kSeq, 0, mainStream>>>(b);  // expect: SS109
  C(cudaStreamWaitEvent(mainStream, masked, 0));
  nextStep<<<1, 1, 0, mainStream>>>(b);
  C(cudaStreamEndCapture(mainStream, &graph));
  C(cudaGraphInstantiate(&exec, graph, 0));
  C(cudaGraphDestroy(graph));
  return exec;
}

int main() {
  StepBuffers b{};
  C(cudaMalloc(&b.scores, kCells * sizeof(float)));
  C(cudaMalloc(&b.mask, kCells * sizeof(float)));
  C(cudaMalloc(&b.context, kSeq * sizeof(float)));
  C(cudaMalloc(&b.step, sizeof(int)));
  C(cudaMemset(b.mask, 0, kCells * sizeof(float)));
  C(cudaMemset(b.context, 0, kSeq * sizeof(float)));
  C(cudaMemset(b.step, 0, sizeof(int)));
  C(cudaDeviceSynchronize());
  {
    ScopedStream mainStream, side;
    cudaGraphExec_t exec = captureStep(mainStream, side, b);
    for (int i = 0; i < 10; ++i) C(cudaGraphLaunch(exec, mainStream));
    C(cudaStreamSynchronize(mainStream));
    cudaGraphExecDestroy(exec);
  }
  std::vector<float> ctx(kSeq);
  C(cudaMemcpy(ctx.data(), b.context, kSeq * sizeof(float), cudaMemcpyDeviceToHost));
  double s = 0;
  for (int r = 0; r < kSeq; ++r) s += ctx[r] * (r + 1);
  std::printf("context %.1f\n", s);
  cudaFree(b.step); cudaFree(b.context); cudaFree(b.mask); cudaFree(b.scores);
  return 0;
}
