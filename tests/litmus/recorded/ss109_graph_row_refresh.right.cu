// A table is refreshed by a graph, row by row as a work list in device memory says, while lookups of other rows go on in
// a stream of their own.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_OK(call)                                                                     \
  if (cudaError_t rc = (call); rc != cudaSuccess) {                                       \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc));           \
    exit(1);                                                                              \
  }

constexpr int kRows = 256, kWidth = 128;

__global__ void refresh(float* table, const int* rows, float value) {
  table[rows[blockIdx.x] * kWidth + threadIdx.x] = value + threadIdx.x;
}

__global__ void gather(const float* table, const int* rows, float* out) {
  out[blockIdx.x * kWidth + threadIdx.x] = table[rows[blockIdx.x] * kWidth + threadIdx.x];
}

struct RowList {
  int* device = nullptr;
  int count = 0;
  RowList(int first, int number) : count(number) {
    std::vector<int> rows;
    for (int i = 0; i < number; ++i) rows.push_back(first + 2 * i);
    CUDA_OK(cudaMalloc(&device, number * sizeof(int)));
    CUDA_OK(cudaMemcpy(device, rows.data(), number * sizeof(int), cudaMemcpyHostToDevice));
  }
  ~RowList() { cudaFree(device); }
};

class Refresher {
 public:
  Refresher(float* table, const RowList& rows) {
    float value = 3.0f;
    void* arguments[] = {&table, const_cast<int**>(&rows.device), &value};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(refresh);
    parameters.gridDim = dim3(rows.count);
    parameters.blockDim = dim3(kWidth);
    parameters.kernelParams = arguments;
    cudaGraphNode_t node;
    CUDA_OK(cudaGraphCreate(&graph_, 0));
    CUDA_OK(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &parameters));
    CUDA_OK(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  ~Refresher() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
  }
  void run(cudaStream_t stream) { CUDA_OK(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraph_t graph_{};
  cudaGraphExec_t exec_{};
};

int main() {
  float *table, *out;
  cudaStream_t writer, reader;
  CUDA_OK(cudaMalloc(&table, kRows * kWidth * sizeof(float)));
  CUDA_OK(cudaMalloc(&out, 32 * kWidth * sizeof(float)));
  CUDA_OK(cudaMemset(table, 0, kRows * kWidth * sizeof(float)));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking));
  CUDA_OK(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
  {
    RowList even(0, 32), asked(1, 32);
    Refresher refresher(table, even);
    for (int turn = 0; turn < 4; ++turn) {
      refresher.run(writer);
      gather<<<asked.count, kWidth, 0, reader>>>(table, asked.device, out);
      CUDA_OK(cudaStreamSynchronize(reader));
      CUDA_OK(cudaStreamSynchronize(writer));
    }
  }
  std::vector<float> row(kWidth);
  CUDA_OK(cudaMemcpy(row.data(), out, kWidth * sizeof(float), cudaMemcpyDeviceToHost));
  printf("first %.1f\n", row[0]);
  CUDA_OK(cudaFree(out));
  CUDA_OK(cudaFree(table));
  CUDA_OK(cudaStreamDestroy(reader));
  CUDA_OK(cudaStreamDestroy(writer));
  return 0;
}
