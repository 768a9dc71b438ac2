// Out-of-core volume viewer: the near brick comes from the host, the far brick is
// recycled from the previous volume on the device. Both go into one pitched volume.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                                              \
  do {                                                                             \
    cudaError_t status = (x);                                                      \
    if (status != cudaSuccess) {                                                   \
      fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      exit(EXIT_FAILURE);                                                          \
    }                                                                              \
  } while (0)

struct Dims { size_t nx, ny, nz; };

class Volume {
 public:
  explicit Volume(Dims d) : d_(d) {
    CUDA_CHECK(cudaMalloc3D(&p_, make_cudaExtent(d.nx * sizeof(float), d.ny, d.nz)));
    CUDA_CHECK(cudaMemset3D(p_, 0, make_cudaExtent(d.nx * sizeof(float), d.ny, d.nz)));
  }
  ~Volume() { cudaFree(p_.ptr); }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;
  cudaPitchedPtr ptr() const { return p_; }
  Dims dims() const { return d_; }
 private:
  cudaPitchedPtr p_{};
  Dims d_;
};

struct Brick { size_t x0, x1; };   // half open range of voxel columns

__global__ void seed(cudaPitchedPtr p, int nx, int ny, int nz, float base) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  if (x < nx && y < ny && z < nz)
    reinterpret_cast<float*>(static_cast<char*>(p.ptr) + (size_t(z) * ny + y) * p.pitch)[x] = base + x + 0.5f * z;
}

__global__ void marchRays(cudaPitchedPtr p, int nx, int ny, int nz, float* image) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= nx || y >= ny) return;
  float a = 0;
  for (int z = 0; z < nz; ++z)
    a = a * 0.9f + reinterpret_cast<float*>(static_cast<char*>(p.ptr) + (size_t(z) * ny + y) * p.pitch)[x];
  image[y * nx + x] = a;
}

static void copyFromHost(const Volume& dst, float* host, Brick b, cudaStream_t s) {
  const Dims d = dst.dims();
  cudaMemcpy3DParms m{};
  m.srcPtr = make_cudaPitchedPtr(host, d.nx * sizeof(float), d.nx * sizeof(float), d.ny);
  m.srcPos = make_cudaPos(b.x0 * sizeof(float), 0, 0);
  m.dstPtr = dst.ptr();
  m.dstPos = make_cudaPos(b.x0 * sizeof(float), 0, 0);
  m.extent = make_cudaExtent((b.x1 - b.x0) * sizeof(float), d.ny, d.nz);
  m.kind = cudaMemcpyHostToDevice;
  CUDA_CHECK(cudaMemcpy3DAsync(&m, s));
}

static void recycle(const Volume& dst, const Volume& src, Brick b, cudaStream_t s) {
  const Dims d = dst.dims();
  cudaMemcpy3DParms m{};
  m.srcPtr = src.ptr();
  m.srcPos = make_cudaPos(b.x0 * sizeof(float), 0, 0);
  m.dstPtr = dst.ptr();
  m.dstPos = m.srcPos;
  m.extent = make_cudaExtent((b.x1 - b.x0) * sizeof(float), d.ny, d.nz);
  m.kind = cudaMemcpyDeviceToDevice;
  CUDA_CHECK(cudaMemcpy3DAsync(&m, s));  // expect: SS109
}

int main() {
  const Dims d{128, 96, 64};
  const size_t voxels = d.nx * d.ny * d.nz;
  Volume live(d), previous(d);
  float* host = nullptr;
  float* image = nullptr;
  CUDA_CHECK(cudaMallocHost(&host, voxels * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&image, d.nx * d.ny * sizeof(float)));
  for (size_t i = 0; i < voxels; ++i) host[i] = float(i % 173);
  const dim3 block(64), grid((d.nx + 63) / 64, d.ny, d.nz);
  seed<<<grid, block>>>(previous.ptr(), int(d.nx), int(d.ny), int(d.nz), 1000.f);
  cudaStream_t nearStream, farStream, rays;
  for (cudaStream_t* s : {&nearStream, &farStream, &rays}) CUDA_CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  cudaEvent_t loaded[2];
  for (cudaEvent_t& e : loaded) CUDA_CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  CUDA_CHECK(cudaDeviceSynchronize());

  const size_t cut = d.nx / 2;
  const Brick nearBrick{0, cut + 1};
  const Brick farBrick{cut, d.nx};
  copyFromHost(live, host, nearBrick, nearStream);
  CUDA_CHECK(cudaEventRecord(loaded[0], nearStream));
  recycle(live, previous, farBrick, farStream);
  CUDA_CHECK(cudaEventRecord(loaded[1], farStream));
  for (cudaEvent_t e : loaded) CUDA_CHECK(cudaStreamWaitEvent(rays, e, 0));
  marchRays<<<dim3((d.nx + 63) / 64, d.ny), block, 0, rays>>>(live.ptr(), int(d.nx), int(d.ny), int(d.nz), image);

  std::vector<float> out(d.nx * d.ny);
  CUDA_CHECK(cudaStreamSynchronize(rays));
  CUDA_CHECK(cudaMemcpy(out.data(), image, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (size_t i = 0; i < out.size(); ++i) sum += out[i] * double(1 + i % 19);
  printf("ray checksum %.3f\n", sum);
  for (cudaEvent_t e : loaded) cudaEventDestroy(e);
  for (cudaStream_t s : {nearStream, farStream, rays}) cudaStreamDestroy(s);
  cudaFree(image);
  cudaFreeHost(host);
  return 0;
}
