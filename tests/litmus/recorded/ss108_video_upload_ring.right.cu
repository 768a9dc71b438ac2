// Video decode front end: bitstream packets are staged in pinned memory, one
// stream per slot, uploaded and "decoded". Key frames cost much more than deltas.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <array>

#define CHECK(x) do { cudaError_t s_ = (x); if (s_ != cudaSuccess) { \
  std::fprintf(stderr, "[%s] %s\n", #x, cudaGetErrorString(s_)); std::exit(1); } } while (0)

namespace {

constexpr size_t kPacket = 64 * 1024;
constexpr int kSlots = 3;
constexpr int kFrames = 18;

__global__ void resetPlanes(uint32_t* planes, int words, int cost) {
  long long t0 = clock64();
  while (clock64() - t0 < cost) {
  }
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
    planes[i] = 0;
}

__global__ void decodePacket(const uint8_t* bits, uint32_t* planes, unsigned long long* digest, int n) {
  unsigned long long local = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    planes[i] = bits[i] * 3u + 1u;
    local += bits[i];
  }
  atomicAdd(digest, local);
}

struct Slot {
  uint8_t* staging = nullptr;   // pinned
  uint8_t* bits = nullptr;
  uint32_t* planes = nullptr;
  cudaStream_t stream{};
  cudaEvent_t done{};
  Slot() {
    CHECK(cudaHostAlloc(&staging, kPacket, cudaHostAllocDefault));
    CHECK(cudaMalloc(&bits, kPacket));
    CHECK(cudaMalloc(&planes, kPacket * sizeof(uint32_t)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  }
  ~Slot() {
    cudaStreamSynchronize(stream);
    cudaEventDestroy(done);
    cudaStreamDestroy(stream);
    cudaFree(planes);
    cudaFree(bits);
    cudaFreeHost(staging);
  }
};

class Demuxer {
 public:
  // stands in for reading the container
  void read(uint8_t* dst, int frame) const {
    std::memset(dst, 1 + frame * 5, kPacket);
  }
  bool keyFrame(int frame) const { return frame % kSlots == 0; }
};

class Decoder {
 public:
  Decoder() {
    CHECK(cudaMalloc(&digest_, kFrames * sizeof(unsigned long long)));
    CHECK(cudaMemset(digest_, 0, kFrames * sizeof(unsigned long long)));
    CHECK(cudaDeviceSynchronize());
  }
  ~Decoder() { cudaFree(digest_); }

  void submit(int frame) {
    const int index = frame % kSlots;
    Slot& slot = slots_[index];
    CHECK(cudaEventSynchronize(slot.done));
    demux_.read(slot.staging, frame);
    const int cost = demux_.keyFrame(frame) ? 3000000 : 20000;
    resetPlanes<<<8, 256, 0, slot.stream>>>(slot.planes, kPacket, cost);
    CHECK(cudaMemcpyAsync(slot.bits, slot.staging, kPacket, cudaMemcpyHostToDevice, slot.stream));
    decodePacket<<<8, 256, 0, slot.stream>>>(slot.bits, slot.planes, digest_ + frame, kPacket);
    CHECK(cudaEventRecord(slot.done, slot.stream));
  }

  unsigned long long digest() {
    for (Slot& s : slots_) CHECK(cudaStreamSynchronize(s.stream));
    std::array<unsigned long long, kFrames> h{};
    CHECK(cudaMemcpy(h.data(), digest_, sizeof(h), cudaMemcpyDeviceToHost));
    unsigned long long s = 0;
    for (int f = 0; f < kFrames; ++f) s = s * 31 + h[f];
    return s;
  }

 private:
  std::array<Slot, kSlots> slots_;
  Demuxer demux_;
  unsigned long long* digest_ = nullptr;
};

}  // namespace

int main() {
  Decoder dec;
  for (int f = 0; f < kFrames; ++f) dec.submit(f);
  std::printf("digest %016llx\n", dec.digest());
  return 0;
}
