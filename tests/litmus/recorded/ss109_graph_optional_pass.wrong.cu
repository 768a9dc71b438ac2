// A denoise pass is an IF node that is on by default. Its region of interest lies in device memory; statistics of another
// region are computed beside it on a stream of their own.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPU(call)                                                                          \
  do {                                                                                     \
    cudaError_t code = (call);                                                             \
    if (code != cudaSuccess) {                                                             \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(code));         \
      exit(1);                                                                             \
    }                                                                                      \
  } while (0)

constexpr int kPixels = 1 << 14;

struct Region {
  int begin, end;
};

__global__ void brighten(float* pixels, const Region* region) {
  for (int i = region->begin + threadIdx.x; i < region->end; i += blockDim.x) pixels[i] += 1.0f;
}

__global__ void denoise(float* pixels, const Region* region) {
  for (int i = region->begin + threadIdx.x; i < region->end; i += blockDim.x) pixels[i] *= 0.9f;
}

__global__ void brightest(const float* pixels, const Region* region, float* result) {
  float most = 0.0f;
  for (int i = region->begin; i < region->end; ++i) most = fmaxf(most, pixels[i]);
  *result = most;
}

void add_kernel(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count, void* function,
                float* pixels, const Region* region) {
  void* arguments[] = {&pixels, &region};
  cudaKernelNodeParams parameters{};
  parameters.func = function;
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(256);
  parameters.kernelParams = arguments;
  GPU(cudaGraphAddKernelNode(node, graph, before, count, &parameters));
}

class Filter {
 public:
  Filter(float* pixels, const Region* regions) {
    cudaGraphNode_t first, optional, pass;
    cudaGraphConditionalHandle wanted;
    GPU(cudaGraphCreate(&graph_, 0));
    GPU(cudaGraphConditionalHandleCreate(&wanted, graph_, 1, cudaGraphCondAssignDefault));
    add_kernel(&first, graph_, nullptr, 0, reinterpret_cast<void*>(brighten), pixels, regions);
    cudaGraphNodeParams parameters{};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = wanted;
    parameters.conditional.type = cudaGraphCondTypeIf;
    parameters.conditional.size = 1;
    GPU(cudaGraphAddNode(&optional, graph_, &first, nullptr, 1, &parameters));
    add_kernel(&pass, parameters.conditional.phGraph_out[0], nullptr, 0, reinterpret_cast<void*>(denoise), pixels,
               regions + 1);
    GPU(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  ~Filter() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
  }
  void launch(cudaStream_t stream) { GPU(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraph_t graph_{};
  cudaGraphExec_t exec_{};
};

int main() {
  const Region described[3] = {{0, 4096}, {8192, 12544}, {12288, kPixels}};
  float *pixels, *result;
  Region* regions;
  cudaStream_t filtering, measuring;
  GPU(cudaMalloc(&pixels, kPixels * sizeof(float)));
  GPU(cudaMalloc(&result, sizeof(float)));
  GPU(cudaMalloc(&regions, sizeof described));
  GPU(cudaMemset(pixels, 0, kPixels * sizeof(float)));
  GPU(cudaMemcpy(regions, described, sizeof described, cudaMemcpyHostToDevice));
  GPU(cudaDeviceSynchronize());
  GPU(cudaStreamCreateWithFlags(&filtering, cudaStreamNonBlocking));
  GPU(cudaStreamCreateWithFlags(&measuring, cudaStreamNonBlocking));
  {
    Filter filter(pixels, regions);
    for (int frame = 0; frame < 3; ++frame) {
      filter.launch(filtering);
      brightest<<<1, 1, 0, measuring>>>(pixels, regions + 2, result);  // expect: SS109
      GPU(cudaStreamSynchronize(filtering));
      GPU(cudaStreamSynchronize(measuring));
    }
  }
  float most = 0;
  GPU(cudaMemcpy(&most, result, sizeof most, cudaMemcpyDeviceToHost));
  printf("brightest %.3f\n", most);
  GPU(cudaFree(regions));
  GPU(cudaFree(result));
  GPU(cudaFree(pixels));
  GPU(cudaStreamDestroy(measuring));
  GPU(cudaStreamDestroy(filtering));
  return 0;
}
