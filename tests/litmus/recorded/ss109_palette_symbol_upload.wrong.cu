// False-colour renderer: the palette lives in a __device__ symbol and is refreshed
// for every frame from pinned memory on an upload stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPU_CALL(x)                                                                     \
  do {                                                                                  \
    cudaError_t gc = (x);                                                               \
    if (gc != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(gc));   \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

constexpr int kPalette = 256;
constexpr int kPixels = 1 << 14;
constexpr int kFrames = 12;

__device__ uchar4 g_palette[kPalette];

__global__ void colourise(const unsigned char* field, unsigned long long* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const long long t0 = clock64();
  while (clock64() - t0 < 250000) {
  }
  if (i >= n) return;
  const uchar4 c = g_palette[field[i]];
  atomicAdd(sum, static_cast<unsigned long long>(c.x + 2 * c.y + 3 * c.z));
}

class PaletteBank {
 public:
  explicit PaletteBank(int count) {
    GPU_CALL(cudaMallocHost(&colours_, count * kPalette * sizeof(uchar4)));
    for (int p = 0; p < count; ++p)
      for (int i = 0; i < kPalette; ++i)
        colours_[p * kPalette + i] = make_uchar4((i + 9 * p) & 255, (i * p) & 255, (255 - i) & 255, 255);
  }
  ~PaletteBank() { cudaFreeHost(colours_); }
  const uchar4* palette(int p) const { return colours_ + p * kPalette; }
 private:
  uchar4* colours_ = nullptr;
};

class Renderer {
 public:
  explicit Renderer(const std::vector<unsigned char>& field) : bank_(kFrames) {
    GPU_CALL(cudaMalloc(&field_, field.size()));
    GPU_CALL(cudaMemcpy(field_, field.data(), field.size(), cudaMemcpyHostToDevice));
    GPU_CALL(cudaMalloc(&sums_, kFrames * sizeof(unsigned long long)));
    GPU_CALL(cudaMemset(sums_, 0, kFrames * sizeof(unsigned long long)));
    GPU_CALL(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
    GPU_CALL(cudaStreamCreateWithFlags(&draw_, cudaStreamNonBlocking));
    GPU_CALL(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
    GPU_CALL(cudaEventCreateWithFlags(&drawn_, cudaEventDisableTiming));
    GPU_CALL(cudaDeviceSynchronize());
  }
  ~Renderer() {
    cudaDeviceSynchronize();
    cudaEventDestroy(drawn_);
    cudaEventDestroy(uploaded_);
    cudaStreamDestroy(draw_);
    cudaStreamDestroy(upload_);
    cudaFree(sums_);
    cudaFree(field_);
  }
  void frame(int f) {
    GPU_CALL(cudaMemcpyToSymbolAsync(g_palette, bank_.palette(f), sizeof(uchar4) * kPalette, 0,  // expect: SS109
                                     cudaMemcpyHostToDevice, upload_));
    GPU_CALL(cudaEventRecord(uploaded_, upload_));
    GPU_CALL(cudaStreamWaitEvent(draw_, uploaded_, 0));
    colourise<<<kPixels / 256, 256, 0, draw_>>>(field_, sums_ + f, kPixels);
    GPU_CALL(cudaEventRecord(drawn_, draw_));
  }
  unsigned long long digest() {
    GPU_CALL(cudaStreamSynchronize(draw_));
    std::vector<unsigned long long> h(kFrames);
    GPU_CALL(cudaMemcpy(h.data(), sums_, kFrames * sizeof(h[0]), cudaMemcpyDeviceToHost));
    unsigned long long d = 0;
    for (auto v : h) d = d * 1000003u + v;
    return d;
  }
 private:
  PaletteBank bank_;
  unsigned char* field_ = nullptr;
  unsigned long long* sums_ = nullptr;
  cudaStream_t upload_{}, draw_{};
  cudaEvent_t uploaded_{}, drawn_{};
};

int main() {
  std::vector<unsigned char> field(kPixels);
  for (int i = 0; i < kPixels; ++i) field[i] = static_cast<unsigned char>(i * 13 >> 2);
  Renderer r(field);
  for (int f = 0; f < kFrames; ++f) r.frame(f);
  std::printf("frames digest %016llx\n", r.digest());
  return 0;
}
