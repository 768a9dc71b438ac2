// Auto exposure metering as an explicitly built graph:
// clear bins -> accumulate -> export to pinned memory -> host callback updates the gain.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_OR_DIE(x)                                                         \
  if (cudaError_t e_ = (x); e_ != cudaSuccess) {                               \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
    exit(1);                                                                   \
  }

constexpr int kBins = 128;
constexpr int kPixels = 1 << 16;

__global__ void accumulate(const unsigned short* img, int n, unsigned* bins) {
  long long t0 = clock64();
  while (clock64() - t0 < 300000) {
  }
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[img[i] >> 9], 1u);
}

struct Meter {
  unsigned* exported;          // pinned
  double gain = 1.0;
  unsigned long long trace = 0;
  static void CUDART_CB onExport(void* self) { static_cast<Meter*>(self)->update(); }
  void update() {
    unsigned long long weighted = 0, total = 0;
    for (int b = 0; b < kBins; ++b) {
      weighted += (unsigned long long)exported[b] * b;
      total += exported[b];
    }
    trace = trace * 131 + weighted;
    gain *= total ? 64.0 * total / (weighted + 1.0) : 0.5;
  }
};

class MeterGraph {
 public:
  MeterGraph(const unsigned short* img, unsigned* bins, Meter* meter) {
    CUDA_OR_DIE(cudaGraphCreate(&graph_, 0));

    cudaMemsetParams ms{};
    ms.dst = bins;
    ms.elementSize = sizeof(unsigned);
    ms.width = kBins;
    ms.height = 1;
    ms.value = 0;
    cudaGraphNode_t clear;
    CUDA_OR_DIE(cudaGraphAddMemsetNode(&clear, graph_, nullptr, 0, &ms));

    int n = kPixels;
    void* args[] = {&img, &n, &bins};
    cudaKernelNodeParams kp{};
    kp.func = reinterpret_cast<void*>(accumulate);
    kp.gridDim = dim3(32);
    kp.blockDim = dim3(256);
    kp.kernelParams = args;
    cudaGraphNode_t count;
    CUDA_OR_DIE(cudaGraphAddKernelNode(&count, graph_, &clear, 1, &kp));

    cudaGraphNode_t exportBins;
    std::vector<cudaGraphNode_t> before{count};
    CUDA_OR_DIE(cudaGraphAddMemcpyNode1D(&exportBins, graph_, before.data(), before.size(), meter->exported, bins,
                                         kBins * sizeof(unsigned), cudaMemcpyDeviceToHost));

    cudaHostNodeParams hp{};
    hp.fn = &Meter::onExport;
    hp.userData = meter;
    cudaGraphNode_t callback;
    CUDA_OR_DIE(cudaGraphAddHostNode(&callback, graph_, &exportBins, 1, &hp));
    CUDA_OR_DIE(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  ~MeterGraph() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
  }
  void launch(cudaStream_t s) { CUDA_OR_DIE(cudaGraphLaunch(exec_, s)); }

 private:
  cudaGraph_t graph_{};
  cudaGraphExec_t exec_{};
};

int main() {
  unsigned short* img;
  unsigned* bins;
  Meter meter;
  CUDA_OR_DIE(cudaMalloc(&img, kPixels * sizeof(unsigned short)));
  CUDA_OR_DIE(cudaMalloc(&bins, kBins * sizeof(unsigned)));
  CUDA_OR_DIE(cudaMallocHost(&meter.exported, kBins * sizeof(unsigned)));
  std::vector<unsigned short> h(kPixels);
  for (int i = 0; i < kPixels; ++i) h[i] = static_cast<unsigned short>(i * 40503u >> 4);
  CUDA_OR_DIE(cudaMemcpy(img, h.data(), kPixels * sizeof(unsigned short), cudaMemcpyHostToDevice));
  CUDA_OR_DIE(cudaDeviceSynchronize());
  cudaStream_t stream;
  CUDA_OR_DIE(cudaStreamCreate(&stream));
  {
    MeterGraph graph(img, bins, &meter);
    for (int f = 0; f < 8; ++f) graph.launch(stream);
    CUDA_OR_DIE(cudaStreamSynchronize(stream));
  }
  printf("trace %016llx gain %.5f\n", meter.trace, meter.gain);
  cudaStreamDestroy(stream);
  cudaFreeHost(meter.exported);
  cudaFree(bins);
  cudaFree(img);
  return 0;
}
