// Lidar occupancy: every sweep clears a big voxel grid, inserts the points and counts
// the occupied voxels.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define LIDAR_CHECK(x)                                                   \
  if (const cudaError_t rc = (x); rc != cudaSuccess) {                   \
    std::fprintf(stderr, "lidar:%d %s\n", __LINE__, cudaGetErrorName(rc)); \
    std::exit(1);                                                        \
  }

constexpr size_t kVoxels = size_t(48) << 20;   // bytes
constexpr int kPoints = 1 << 16;
constexpr int kSweeps = 8;

__device__ unsigned voxelOf(int point, int sweep) {
  unsigned h = unsigned(point) * 2654435761u + unsigned(sweep) * 40503u;
  h ^= h >> 15;
  return static_cast<unsigned>(kVoxels - 1 - (h & 0xfffff));
}

__global__ void insertPoints(unsigned* grid, int points, int sweep) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points) return;
  const unsigned v = voxelOf(i, sweep);
  atomicOr(&grid[v >> 2], 1u << (8 * (v & 3)));
}

__global__ void countOccupied(const unsigned* grid, size_t first, size_t words, unsigned* count) {
  unsigned c = 0;
  for (size_t i = first + blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < words; i += size_t(gridDim.x) * blockDim.x)
    c += __popc(grid[i]);
  atomicAdd(count, c);
}

class OccupancyGrid {
 public:
  OccupancyGrid() {
    LIDAR_CHECK(cudaMalloc(&grid_, kVoxels));
    LIDAR_CHECK(cudaMemset(grid_, 0xff, kVoxels));
    LIDAR_CHECK(cudaMalloc(&counts_, kSweeps * sizeof(unsigned)));
    LIDAR_CHECK(cudaMemset(counts_, 0, kSweeps * sizeof(unsigned)));
    LIDAR_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    LIDAR_CHECK(cudaDeviceSynchronize());
  }
  ~OccupancyGrid() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
    cudaFree(counts_);
    cudaFree(grid_);
  }

  void sweep(int s) {
    clear();
    insertPoints<<<kPoints / 256, 256, 0, stream_>>>(grid_, kPoints, s);  // expect-note: SS109
    countOccupied<<<256, 256, 0, stream_>>>(grid_, (kVoxels - (1 << 20)) / 4, kVoxels / 4, counts_ + s);  // expect: SS109
    LIDAR_CHECK(cudaGetLastError());
    LIDAR_CHECK(cudaStreamSynchronize(stream_));
  }

  unsigned long long digest() const {
    std::vector<unsigned> h(kSweeps);
    LIDAR_CHECK(cudaMemcpy(h.data(), counts_, kSweeps * sizeof(unsigned), cudaMemcpyDeviceToHost));
    unsigned long long d = 0;
    for (int s = 0; s < kSweeps; ++s) d = d * 101 + h[s];
    return d;
  }

 private:
  void clear() {
    LIDAR_CHECK(cudaMemset(grid_, 0, kVoxels));
  }
  unsigned* grid_ = nullptr;
  unsigned* counts_ = nullptr;
  cudaStream_t stream_{};
};

int main() {
  OccupancyGrid grid;
  for (int s = 0; s < kSweeps; ++s) grid.sweep(s);
  std::printf("occupied digest %llu\n", grid.digest());
  return 0;
}
