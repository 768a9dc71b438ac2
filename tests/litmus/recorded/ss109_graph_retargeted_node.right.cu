// One graph node blurs a tile of an image; before each launch it is given the tile's descriptor, which lies in device
// memory. A preview on another stream copies tiles that are done.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define VERIFY(expression)                                                                      \
  do {                                                                                          \
    cudaError_t result_ = (expression);                                                         \
    if (result_ != cudaSuccess) {                                                               \
      fprintf(stderr, "%s failed at line %d: %s\n", #expression, __LINE__, cudaGetErrorString(result_)); \
      exit(1);                                                                                  \
    }                                                                                           \
  } while (0)

constexpr int kTile = 1024, kTiles = 6;

struct Tile {
  int begin;
  float weight;
};

__global__ void blur(float* image, const Tile* tile) {
  int at = tile->begin + threadIdx.x;
  image[at] = image[at] * tile->weight + 1.0f;
}

__global__ void preview(const float* image, const Tile* tile, float* shown) {
  shown[threadIdx.x] = image[tile->begin + threadIdx.x];
}

class TileGraph {
 public:
  TileGraph(float* image, const Tile* tile) {
    VERIFY(cudaGraphCreate(&graph_, 0));
    describe(image, tile);
    VERIFY(cudaGraphAddKernelNode(&node_, graph_, nullptr, 0, &parameters_));
    VERIFY(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  ~TileGraph() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
  }
  void retarget(float* image, const Tile* tile) {
    describe(image, tile);
    VERIFY(cudaGraphExecKernelNodeSetParams(exec_, node_, &parameters_));
  }
  void launch(cudaStream_t stream) { VERIFY(cudaGraphLaunch(exec_, stream)); }

 private:
  void describe(float* image, const Tile* tile) {
    image_ = image;
    tile_ = tile;
    arguments_[0] = &image_;
    arguments_[1] = &tile_;
    parameters_ = {};
    parameters_.func = reinterpret_cast<void*>(blur);
    parameters_.gridDim = dim3(1);
    parameters_.blockDim = dim3(kTile);
    parameters_.kernelParams = arguments_;
  }
  float* image_ = nullptr;
  const Tile* tile_ = nullptr;
  void* arguments_[2];
  cudaKernelNodeParams parameters_{};
  cudaGraph_t graph_{};
  cudaGraphNode_t node_{};
  cudaGraphExec_t exec_{};
};

int main() {
  float *image, *shown;
  Tile* tiles;
  std::vector<Tile> described;
  for (int i = 0; i < kTiles; ++i) described.push_back({i * kTile, 0.5f});
  VERIFY(cudaMalloc(&image, kTiles * kTile * sizeof(float)));
  VERIFY(cudaMalloc(&shown, kTile * sizeof(float)));
  VERIFY(cudaMalloc(&tiles, kTiles * sizeof(Tile)));
  VERIFY(cudaMemset(image, 0, kTiles * kTile * sizeof(float)));
  VERIFY(cudaMemcpy(tiles, described.data(), kTiles * sizeof(Tile), cudaMemcpyHostToDevice));
  VERIFY(cudaDeviceSynchronize());
  cudaStream_t work, view;
  VERIFY(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  VERIFY(cudaStreamCreateWithFlags(&view, cudaStreamNonBlocking));
  {
    TileGraph graph(image, tiles);
    for (int tile = 1; tile < kTiles; ++tile) {
      graph.retarget(image, tiles + tile);
      graph.launch(work);
      preview<<<1, kTile, 0, view>>>(image, tiles + tile - 1, shown);
      VERIFY(cudaStreamSynchronize(view));
      VERIFY(cudaStreamSynchronize(work));
    }
  }
  float first = 0;
  VERIFY(cudaMemcpy(&first, shown, sizeof first, cudaMemcpyDeviceToHost));
  printf("shown %.2f\n", first);
  VERIFY(cudaFree(tiles));
  VERIFY(cudaFree(shown));
  VERIFY(cudaFree(image));
  VERIFY(cudaStreamDestroy(view));
  VERIFY(cudaStreamDestroy(work));
  return 0;
}
