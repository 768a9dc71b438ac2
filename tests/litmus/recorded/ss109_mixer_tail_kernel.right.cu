// Audio mixer: whole tiles are mixed by a vectorised kernel, the remainder by a scalar
// tail kernel on a second stream so that it hides behind the bulk.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define MIX_CHECK(x)                                                                 \
  do {                                                                               \
    if (cudaError_t mix_rc = (x)) {                                                  \
      std::fprintf(stderr, "mixer line %d: %s\n", __LINE__, cudaGetErrorString(mix_rc)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

constexpr int kTile = 1024;          // samples handled per block
constexpr int kSamples = 64 * kTile;
constexpr int kPasses = 16;

struct Track {
  float* out;
  const float* voice;
  float gain;
};

__device__ void dsp(int cycles) {
  const long long t0 = clock64();
  while (clock64() - t0 < cycles) {
  }
}

__global__ void mixTiles(Track t) {
  float4* out = reinterpret_cast<float4*>(t.out) + blockIdx.x * (kTile / 4);
  const float4* in = reinterpret_cast<const float4*>(t.voice) + blockIdx.x * (kTile / 4);
  float4 o = out[threadIdx.x];
  const float4 v = in[threadIdx.x];
  dsp(100000);
  o.x = 0.5f * o.x + t.gain * v.x;
  o.y = 0.5f * o.y + t.gain * v.y;
  o.z = 0.5f * o.z + t.gain * v.z;
  o.w = 0.5f * o.w + t.gain * v.w;
  out[threadIdx.x] = o;
}

__global__ void mixTail(Track t, int begin, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float o = t.out[begin + i];
  dsp(50000);
  t.out[begin + i] = 0.5f * o + t.gain * t.voice[begin + i];
}

class Mixer {
 public:
  explicit Mixer(int samples) : n_(samples) {
    MIX_CHECK(cudaMalloc(&out_, n_ * sizeof(float)));
    MIX_CHECK(cudaMalloc(&voice_, n_ * sizeof(float)));
    MIX_CHECK(cudaMemset(out_, 0, n_ * sizeof(float)));
    std::vector<float> v(n_);
    for (int i = 0; i < n_; ++i) v[i] = float(i % 321) - 160.f;
    MIX_CHECK(cudaMemcpy(voice_, v.data(), n_ * sizeof(float), cudaMemcpyHostToDevice));
    MIX_CHECK(cudaStreamCreateWithFlags(&bulk_, cudaStreamNonBlocking));
    MIX_CHECK(cudaStreamCreateWithFlags(&tail_, cudaStreamNonBlocking));
    MIX_CHECK(cudaDeviceSynchronize());
  }
  ~Mixer() {
    cudaStreamDestroy(tail_);
    cudaStreamDestroy(bulk_);
    cudaFree(voice_);
    cudaFree(out_);
  }
  void mix(float gain) {
    const Track t{out_, voice_, gain};
    const int tiles = n_ / kTile;
    const int done = tiles * kTile;
    mixTiles<<<tiles, kTile / 4, 0, bulk_>>>(t);
    mixTail<<<kTile / 256, 256, 0, tail_>>>(t, done, n_ - done);
    MIX_CHECK(cudaGetLastError());
  }
  double rms() {
    MIX_CHECK(cudaStreamSynchronize(bulk_));
    MIX_CHECK(cudaStreamSynchronize(tail_));
    std::vector<float> h(n_);
    MIX_CHECK(cudaMemcpy(h.data(), out_, n_ * sizeof(float), cudaMemcpyDeviceToHost));
    double s = 0;
    for (int i = 0; i < n_; ++i) s += double(h[i]) * h[i];
    return s;
  }
 private:
  int n_;
  float *out_ = nullptr, *voice_ = nullptr;
  cudaStream_t bulk_{}, tail_{};
};

int main() {
  Mixer mixer(kSamples);
  for (int p = 0; p < kPasses; ++p) mixer.mix(0.1f * (1 + p % 4));
  std::printf("energy %.4f\n", mixer.rms());
  return 0;
}
