// Aerial mosaic: tiles are rendered and placed by an import routine that uses the
// default stream, then blended by the view's own stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

static void mustSucceed(cudaError_t e, const char* call) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(e));
  std::exit(1);
}
#define MS(x) mustSucceed((x), #x)

constexpr int kTile = 1 << 20;
constexpr int kTiles = 6;

__global__ void renderTile(int* tile, int n, int id) {
  const long long t0 = clock64();
  while (clock64() - t0 < 300000) {
  }
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) tile[i] = (i ^ id) & 0xff;
}

__global__ void blend(const int* mosaic, int n, unsigned long long* sum) {
  unsigned long long a = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    a += static_cast<unsigned long long>(mosaic[i]) * (1 + (i & 7));
  atomicAdd(sum, a);
}

struct CudaDelete {
  void operator()(void* p) const { cudaFree(p); }
};
template <typename T>
using DevicePtr = std::unique_ptr<T[], CudaDelete>;

template <typename T>
DevicePtr<T> allocate(size_t n) {
  T* p = nullptr;
  MS(cudaMalloc(&p, n * sizeof(T)));
  MS(cudaMemset(p, 0, n * sizeof(T)));
  return DevicePtr<T>(p);
}

class Mosaic {
 public:
  Mosaic() : tile_(allocate<int>(kTile)), canvas_(allocate<int>(size_t(kTiles) * kTile)) { MS(cudaDeviceSynchronize()); }

  // renders into the staging tile and places it; synchronous style API
  void importTile(int id) {
    renderTile<<<128, 256>>>(tile_.get(), kTile, id * 13 + 1);
    MS(cudaGetLastError());
    MS(cudaMemcpy(place(id), tile_.get(), kTile * sizeof(int), cudaMemcpyDeviceToDevice));
  }
  const int* tile(int id) const { return canvas_.get() + size_t(id) * kTile; }

 private:
  int* place(int id) { return canvas_.get() + size_t(id) * kTile; }
  DevicePtr<int> tile_, canvas_;
};

class View {
 public:
  View() : sums_(allocate<unsigned long long>(kTiles)) {
    MS(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    MS(cudaDeviceSynchronize());
  }
  ~View() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  void show(const Mosaic& m, int id) {
    blend<<<128, 256, 0, stream_>>>(m.tile(id), kTile, sums_.get() + id);  // expect: SS109
    MS(cudaGetLastError());
  }
  unsigned long long digest() {
    std::vector<unsigned long long> h(kTiles);
    MS(cudaStreamSynchronize(stream_));
    MS(cudaMemcpy(h.data(), sums_.get(), kTiles * sizeof(h[0]), cudaMemcpyDeviceToHost));
    unsigned long long d = 0;
    for (auto v : h) d = d * 257 + v;
    return d;
  }
 private:
  DevicePtr<unsigned long long> sums_;
  cudaStream_t stream_{};
};

int main() {
  Mosaic mosaic;
  View view;
  for (int id = 0; id < kTiles; ++id) {
    mosaic.importTile(id);
    view.show(mosaic, id);
  }
  std::printf("mosaic %016llx\n", view.digest());
  return 0;
}
