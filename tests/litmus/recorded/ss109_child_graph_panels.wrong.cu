// A factorisation step is a child graph, used for two panels of one matrix side by side. Which columns a panel has is
// kept in device memory.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY(call)                                                                              \
  do {                                                                                         \
    if (cudaError_t e = (call)) {                                                              \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorName(e));                 \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

constexpr int kSize = 256;

struct Panel {
  int first;
  int columns;
};

__global__ void scale_panel(float* matrix, const Panel* panel, float factor) {
  for (int column = panel->first; column < panel->first + panel->columns; ++column)
    matrix[blockIdx.x * kSize + column] *= factor;
}

cudaGraphNode_t add_step(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& before, float* matrix, const Panel* panel,
                         float factor) {
  void* arguments[] = {&matrix, &panel, &factor};
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(scale_panel);
  parameters.gridDim = dim3(kSize);
  parameters.blockDim = dim3(1);
  parameters.kernelParams = arguments;
  cudaGraphNode_t node;
  TRY(cudaGraphAddKernelNode(&node, graph, before.data(), before.size(), &parameters));  // expect: SS109
  return node;
}

cudaGraph_t panel_graph(float* matrix, const Panel* panel) {
  cudaGraph_t inner, outer;
  cudaGraphNode_t child;
  TRY(cudaGraphCreate(&inner, 0));
  cudaGraphNode_t first = add_step(inner, {}, matrix, panel, 2.0f);
  add_step(inner, {first}, matrix, panel, 0.5f);
  TRY(cudaGraphCreate(&outer, 0));
  TRY(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, inner));
  TRY(cudaGraphDestroy(inner));
  return outer;
}

int main() {
  float* matrix;
  Panel* panels;
  const Panel columns[2] = {{0, 129}, {128, 128}};
  TRY(cudaMalloc(&matrix, kSize * kSize * sizeof(float)));
  TRY(cudaMalloc(&panels, sizeof columns));
  std::vector<float> ones(kSize * kSize, 1.0f);
  TRY(cudaMemcpy(matrix, ones.data(), ones.size() * sizeof(float), cudaMemcpyHostToDevice));
  TRY(cudaMemcpy(panels, columns, sizeof columns, cudaMemcpyHostToDevice));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStream_t stream;
  TRY(cudaGraphCreate(&graph, 0));
  for (const Panel* panel = panels; panel != panels + 2; ++panel) {
    cudaGraph_t step = panel_graph(matrix, panel);
    cudaGraphNode_t node;
    TRY(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, step));
    TRY(cudaGraphDestroy(step));
  }
  TRY(cudaGraphInstantiate(&exec, graph, 0));
  TRY(cudaStreamCreate(&stream));
  for (int sweep = 0; sweep < 3; ++sweep) TRY(cudaGraphLaunch(exec, stream));
  TRY(cudaStreamSynchronize(stream));
  TRY(cudaMemcpy(ones.data(), matrix, ones.size() * sizeof(float), cudaMemcpyDeviceToHost));
  printf("corner %.2f\n", ones.back());
  TRY(cudaGraphExecDestroy(exec));
  TRY(cudaGraphDestroy(graph));
  TRY(cudaStreamDestroy(stream));
  TRY(cudaFree(panels));
  TRY(cudaFree(matrix));
  return 0;
}
