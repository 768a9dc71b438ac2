// Two pipelines are executable graphs on streams of their own. Each writes the slot of a shared ring that its cursor in
// device memory names, and moves the cursor on.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void must(cudaError_t status, int line) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(status));
  exit(1);
}
#define MUST(call) must((call), __LINE__)

constexpr int kSlots = 8, kSlot = 512;

__global__ void produce(float* ring, const int* cursor, float value) {
  ring[*cursor % kSlots * kSlot + threadIdx.x] = value;
}

__global__ void advance(int* cursor, int step) { *cursor += step; }

class Pipeline {
 public:
  Pipeline(float* ring, int first, float value) {
    MUST(cudaMalloc(&cursor_, sizeof(int)));
    MUST(cudaMemcpy(cursor_, &first, sizeof(int), cudaMemcpyHostToDevice));
    MUST(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cudaGraph_t graph;
    MUST(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    produce<<<1, kSlot, 0, stream_>>>(ring, cursor_, value);
    advance<<<1, 1, 0, stream_>>>(cursor_, 2);
    MUST(cudaStreamEndCapture(stream_, &graph));
    MUST(cudaGraphInstantiate(&exec_, graph, 0));
    MUST(cudaGraphDestroy(graph));
  }
  ~Pipeline() {
    cudaGraphExecDestroy(exec_);
    cudaStreamDestroy(stream_);
    cudaFree(cursor_);
  }
  void launch() { MUST(cudaGraphLaunch(exec_, stream_)); }  // expect: SS109
  void wait() { MUST(cudaStreamSynchronize(stream_)); }

 private:
  int* cursor_ = nullptr;
  cudaStream_t stream_{};
  cudaGraphExec_t exec_{};
};

int main() {
  float* ring;
  MUST(cudaMalloc(&ring, kSlots * kSlot * sizeof(float)));
  MUST(cudaMemset(ring, 0, kSlots * kSlot * sizeof(float)));
  MUST(cudaDeviceSynchronize());
  {
    Pipeline even(ring, 0, 1.0f), odd(ring, 4 * kSlots, 2.0f);
    for (int round = 0; round < 6; ++round) {
      even.launch();
      odd.launch();
      even.wait();
      odd.wait();
    }
  }
  std::vector<float> all(kSlots * kSlot);
  MUST(cudaMemcpy(all.data(), ring, all.size() * sizeof(float), cudaMemcpyDeviceToHost));
  printf("%.0f %.0f\n", all[0], all[kSlot]);
  MUST(cudaFree(ring));
  return 0;
}
