// Linked-cell method: particles hang in per-cell singly linked lists of nodes in device
// memory. Potentials are summed by walking the lists; charges are updated in bulk.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define LC(x)                                                             \
  do {                                                                    \
    cudaError_t lc_err = (x);                                             \
    if (lc_err != cudaSuccess) {                                          \
      std::fprintf(stderr, "linked cells, line %d: %s\n", __LINE__, cudaGetErrorString(lc_err)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

struct Node {
  float charge;
  int id;
  Node* next;
};

struct CellGrid {
  Node** heads;
  int cells;
};

constexpr int kCells = 256;
constexpr int kNodes = 8192;
constexpr int kRounds = 12;

__global__ void link(CellGrid grid, Node* pool, int n) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= grid.cells) return;
  Node* head = nullptr;
  for (int i = cell; i < n; i += grid.cells) {
    pool[i] = Node{1.0f + (i % 7), i, head};
    head = &pool[i];
  }
  grid.heads[cell] = head;
}

__global__ void walkPotential(CellGrid grid, double* out) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= grid.cells) return;
  double v = 0;
  int depth = 0;
  for (Node* n = grid.heads[cell]; n; n = n->next) {
    const long long t0 = clock64();
    while (clock64() - t0 < 8000) {
    }
    v += n->charge / (1 + ++depth);
  }
  out[cell] += v;
}

__global__ void updateCharges(Node* pool, int n, int round) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) pool[i].charge += 0.25f * ((pool[i].id + round) & 3);
}

class LinkedCells {
 public:
  LinkedCells() {
    LC(cudaMalloc(&pool_, kNodes * sizeof(Node)));
    LC(cudaMalloc(&grid_.heads, kCells * sizeof(Node*)));
    LC(cudaMalloc(&potential_, kCells * sizeof(double)));
    LC(cudaMemset(potential_, 0, kCells * sizeof(double)));
    grid_.cells = kCells;
    link<<<kCells / 64, 64>>>(grid_, pool_, kNodes);
    LC(cudaStreamCreateWithFlags(&field_, cudaStreamNonBlocking));
    LC(cudaStreamCreateWithFlags(&chem_, cudaStreamNonBlocking));
    LC(cudaEventCreateWithFlags(&walked_, cudaEventDisableTiming));
    LC(cudaEventCreateWithFlags(&updated_, cudaEventDisableTiming));
    LC(cudaDeviceSynchronize());
  }
  ~LinkedCells() {
    cudaDeviceSynchronize();
    cudaEventDestroy(updated_);
    cudaEventDestroy(walked_);
    cudaStreamDestroy(chem_);
    cudaStreamDestroy(field_);
    cudaFree(potential_);
    cudaFree(grid_.heads);
    cudaFree(pool_);
  }
  void round(int r) {
    LC(cudaStreamWaitEvent(field_, updated_, 0));
    walkPotential<<<kCells / 64, 64, 0, field_>>>(grid_, potential_);
    LC(cudaEventRecord(walked_, field_));
    LC(cudaStreamWaitEvent(chem_, walked_, 0));
    updateCharges<<<kNodes / 256, 256, 0, chem_>>>(pool_, kNodes, r);
    LC(cudaEventRecord(updated_, chem_));
  }
  double energy() {
    LC(cudaStreamSynchronize(field_));
    LC(cudaStreamSynchronize(chem_));
    std::vector<double> h(kCells);
    LC(cudaMemcpy(h.data(), potential_, kCells * sizeof(double), cudaMemcpyDeviceToHost));
    double e = 0;
    for (int c = 0; c < kCells; ++c) e += h[c] * (1 + c % 3);
    return e;
  }
 private:
  Node* pool_ = nullptr;
  CellGrid grid_{};
  double* potential_ = nullptr;
  cudaStream_t field_{}, chem_{};
  cudaEvent_t walked_{}, updated_{};
};

int main() {
  LinkedCells lc;
  for (int r = 0; r < kRounds; ++r) lc.round(r);
  std::printf("energy %.5f\n", lc.energy());
  return 0;
}
