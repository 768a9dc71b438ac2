// Sprite atlas loader: shelves of sprites are uploaded into sub-rectangles of one
// pitched texture atlas by two upload streams, then composited.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CUDA_TRY(x) if ((x) != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(cudaGetLastError())); std::exit(1); }

struct Rect { int x, y, w, h; };

class Atlas {
 public:
  Atlas(int w, int h) : w_(w), h_(h) {
    CUDA_TRY(cudaMallocPitch(reinterpret_cast<void**>(&texels_), &pitch_, w * sizeof(uint32_t), h));
    CUDA_TRY(cudaMemset2D(texels_, pitch_, 0, w * sizeof(uint32_t), h));
  }
  ~Atlas() { cudaFree(texels_); }
  void upload(const Rect& r, const uint32_t* pixels, cudaStream_t s) {
    char* dst = reinterpret_cast<char*>(texels_) + r.y * pitch_ + r.x * sizeof(uint32_t);
    CUDA_TRY(cudaMemcpy2DAsync(dst, pitch_, pixels, r.w * sizeof(uint32_t), r.w * sizeof(uint32_t), r.h, cudaMemcpyHostToDevice, s));
  }
  const uint32_t* texels() const { return texels_; }
  size_t stride() const { return pitch_ / sizeof(uint32_t); }
  int width() const { return w_; }
  int height() const { return h_; }
 private:
  uint32_t* texels_ = nullptr;
  size_t pitch_ = 0;
  int w_, h_;
};

class PinnedPixels {
 public:
  PinnedPixels(int w, int h, uint32_t tint) {
    CUDA_TRY(cudaMallocHost(&p_, size_t(w) * h * sizeof(uint32_t)));
    for (int i = 0; i < w * h; ++i) p_[i] = tint + (i & 15);
  }
  ~PinnedPixels() { cudaFreeHost(p_); }
  const uint32_t* get() const { return p_; }
 private:
  uint32_t* p_ = nullptr;
};

__global__ void composite(const uint32_t* texels, size_t stride, int w, int h, unsigned long long* sum) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) atomicAdd(sum, static_cast<unsigned long long>(texels[y * stride + x]) * (1 + y % 5));
}

struct Uploader {
  cudaStream_t stream{};
  cudaEvent_t ready{};
  Uploader() {
    CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_TRY(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  }
  ~Uploader() { cudaEventDestroy(ready); cudaStreamDestroy(stream); }
  void publish(cudaStream_t consumer) {
    CUDA_TRY(cudaEventRecord(ready, stream));
    CUDA_TRY(cudaStreamWaitEvent(consumer, ready, 0));
  }
};

int main() {
  const int width = 1024, shelf = 256;
  Atlas atlas(width, 2 * shelf + 1);
  PinnedPixels terrain(width, shelf + 1, 0x1000), actors(width, shelf, 0x2000);
  unsigned long long* sum;
  CUDA_TRY(cudaMalloc(&sum, sizeof(*sum)));
  CUDA_TRY(cudaMemset(sum, 0, sizeof(*sum)));
  Uploader up[2];
  cudaStream_t draw;
  CUDA_TRY(cudaStreamCreateWithFlags(&draw, cudaStreamNonBlocking));
  CUDA_TRY(cudaDeviceSynchronize());

  const Rect terrainShelf{0, 0, width, shelf + 1};
  const Rect actorShelf{0, terrainShelf.y + terrainShelf.h, width, shelf};
  atlas.upload(terrainShelf, terrain.get(), up[0].stream);
  atlas.upload(actorShelf, actors.get(), up[1].stream);
  up[0].publish(draw);
  up[1].publish(draw);

  dim3 grid((width + 127) / 128, atlas.height());
  composite<<<grid, 128, 0, draw>>>(atlas.texels(), atlas.stride(), width, atlas.height(), sum);
  unsigned long long host = 0;
  CUDA_TRY(cudaStreamSynchronize(draw));
  CUDA_TRY(cudaMemcpy(&host, sum, sizeof(host), cudaMemcpyDeviceToHost));
  std::printf("atlas checksum %llu\n", host);
  cudaStreamDestroy(draw);
  cudaFree(sum);
  return 0;
}
