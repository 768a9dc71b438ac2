// Adaptive encoder graph: classify decides on the device whether the frame needs
// sharpening (an IF node), then the frame is encoded.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void ensure(cudaError_t e, const char* expr, int line) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "line %d, %s: %s\n", line, expr, cudaGetErrorString(e));
    std::exit(1);
  }
}
#define ENSURE(x) ensure((x), #x, __LINE__)

constexpr int kFrame = 1 << 13;

__global__ void render(float* img, int* frameNo) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  img[i] = float((i + *frameNo * 11) % 37);
}

__global__ void classify(const float* img, int* frameNo, cudaGraphConditionalHandle needsSharpen) {
  float contrast = img[1] - img[0];
  *frameNo += 1;
  cudaGraphSetConditional(needsSharpen, contrast < 1000.f ? 1 : 0);
}

__global__ void sharpen(float* img) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long t = clock64();
  while (clock64() - t < 300000) {}
  img[i] = img[i] * 1.5f + 2.f;
}

__global__ void encode(const float* img, unsigned long long* bits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(bits, static_cast<unsigned long long>(img[i] * 4.f) * (1 + i % 3));
}

template <typename... A>
cudaGraphNode_t addKernel(cudaGraph_t g, const std::vector<cudaGraphNode_t>& deps, void (*f)(A...), int grid, int block, A... a) {
  void* argv[] = {static_cast<void*>(&a)...};
  cudaGraphNodeParams p{};
  p.type = cudaGraphNodeTypeKernel;
  p.kernel.func = reinterpret_cast<void*>(f);
  p.kernel.gridDim = dim3(grid);
  p.kernel.blockDim = dim3(block);
  p.kernel.kernelParams = argv;
  cudaGraphNode_t n;
  ENSURE(cudaGraphAddNode(&n, g, deps.data(), nullptr, deps.size(), &p));  // expect: SS109
  return n;
}

class EncoderGraph {
 public:
  EncoderGraph(float* img, int* frameNo, unsigned long long* bits) {
    ENSURE(cudaGraphCreate(&graph_, 0));
    const int grid = kFrame / 128;
    cudaGraphConditionalHandle handle;
    ENSURE(cudaGraphConditionalHandleCreate(&handle, graph_, 0, cudaGraphCondAssignDefault));

    cudaGraphNode_t source = addKernel(graph_, {}, render, grid, 128, img, frameNo);
    cudaGraphNode_t decide = addKernel(graph_, {source}, classify, 1, 1, static_cast<const float*>(img), frameNo, handle);

    cudaGraphNodeParams cp{};
    cp.type = cudaGraphNodeTypeConditional;
    cp.conditional.handle = handle;
    cp.conditional.type = cudaGraphCondTypeIf;
    cp.conditional.size = 1;
    cudaGraphNode_t branch;
    ENSURE(cudaGraphAddNode(&branch, graph_, &decide, nullptr, 1, &cp));
    cudaGraph_t body = cp.conditional.phGraph_out[0];
    addKernel(body, {}, sharpen, grid, 128, img);

    addKernel(graph_, {decide}, encode, grid, 128, static_cast<const float*>(img), bits);
    ENSURE(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  ~EncoderGraph() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
  }
  void launch(cudaStream_t s) { ENSURE(cudaGraphLaunch(exec_, s)); }
 private:
  cudaGraph_t graph_{};
  cudaGraphExec_t exec_{};
};

int main() {
  float* img;
  int* frameNo;
  unsigned long long* bits;
  ENSURE(cudaMalloc(&img, kFrame * sizeof(float)));
  ENSURE(cudaMalloc(&frameNo, sizeof(int)));
  ENSURE(cudaMalloc(&bits, sizeof(*bits)));
  ENSURE(cudaMemset(frameNo, 0, sizeof(int)));
  ENSURE(cudaMemset(bits, 0, sizeof(*bits)));
  ENSURE(cudaDeviceSynchronize());
  cudaStream_t stream;
  ENSURE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    EncoderGraph graph(img, frameNo, bits);
    for (int f = 0; f < 8; ++f) graph.launch(stream);
    ENSURE(cudaStreamSynchronize(stream));
  }
  unsigned long long h = 0;
  ENSURE(cudaMemcpy(&h, bits, sizeof(h), cudaMemcpyDeviceToHost));
  std::printf("encoded bits %llu\n", h);
  cudaStreamDestroy(stream);
  cudaFree(bits); cudaFree(frameNo); cudaFree(img);
  return 0;
}
