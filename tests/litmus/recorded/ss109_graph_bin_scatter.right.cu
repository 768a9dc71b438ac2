// Particles of two species are counted into one grid by a graph: both deposits run side by side, and the cell lists in
// device memory say where each species writes.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    cudaError_t status = (call);                                                          \
    if (status != cudaSuccess) {                                                          \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));     \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)

constexpr int kCells = 4096, kListed = 1500;

__global__ void deposit(const int* cells, int count, float charge, float* grid) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) grid[cells[i]] += charge;
}

class Species {
 public:
  Species(int first, float charge) : charge_(charge) {
    std::vector<int> cells(kListed);
    std::iota(cells.begin(), cells.end(), first);
    CHECK(cudaMalloc(&cells_, kListed * sizeof(int)));
    CHECK(cudaMemcpy(cells_, cells.data(), kListed * sizeof(int), cudaMemcpyHostToDevice));
  }
  ~Species() { cudaFree(cells_); }
  const int* cells() const { return cells_; }
  float charge() const { return charge_; }

 private:
  int* cells_ = nullptr;
  float charge_;
};

cudaGraphExec_t record(const Species& electrons, const Species& ions, float* grid, cudaStream_t main, cudaStream_t side) {
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaMemsetAsync(grid, 0, kCells * sizeof(float), main));
  CHECK(cudaEventRecord(fork, main));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  deposit<<<(kListed + 127) / 128, 128, 0, main>>>(electrons.cells(), kListed, electrons.charge(), grid);
  deposit<<<(kListed + 127) / 128, 128, 0, side>>>(ions.cells(), kListed, ions.charge(), grid);
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main, join, 0));
  CHECK(cudaStreamEndCapture(main, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  return exec;
}

int main() {
  cudaStream_t main_stream, side;
  float* grid;
  CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&grid, kCells * sizeof(float)));
  {
    Species electrons(0, -1.0f), ions(1600, 1.0f);
    cudaGraphExec_t exec = record(electrons, ions, grid, main_stream, side);
    for (int step = 0; step < 5; ++step) CHECK(cudaGraphLaunch(exec, main_stream));
    CHECK(cudaStreamSynchronize(main_stream));
    CHECK(cudaGraphExecDestroy(exec));
  }
  std::vector<float> counted(kCells);
  CHECK(cudaMemcpy(counted.data(), grid, kCells * sizeof(float), cudaMemcpyDeviceToHost));
  printf("charge %.1f\n", std::accumulate(counted.begin(), counted.end(), 0.0f));
  CHECK(cudaFree(grid));
  CHECK(cudaStreamDestroy(side));
  CHECK(cudaStreamDestroy(main_stream));
  return 0;
}
