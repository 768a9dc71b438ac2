// Power-iteration style sparse solver: SpMV on the compute stream, the Rayleigh
// dot products on a reduction stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

static void verify(cudaError_t e, const char* file, int line) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + " " + cudaGetErrorString(e));
}
#define V(x) verify((x), __FILE__, __LINE__)

template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(size_t n) : n_(n) { V(cudaMalloc(&p_, n * sizeof(T))); }
  ~DeviceVector() { cudaFree(p_); }
  DeviceVector(const DeviceVector&) = delete;
  T* data() const { return p_; }
  size_t size() const { return n_; }
  void upload(const std::vector<T>& h) { V(cudaMemcpy(p_, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice)); }
 private:
  T* p_ = nullptr;
  size_t n_;
};

struct CsrView { int* rowptr; int* col; double* val; int rows; };

__global__ void spmv(CsrView m, double* x, double* y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= m.rows) return;
  double s = 0;
  for (int k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) s += m.val[k] * x[m.col[k]];
  long long t = clock64();
  while (clock64() - t < 200000) {}
  y[r] = s;
}

__global__ void dot(double* x, double* y, double* out, int n) {
  __shared__ double s[256];
  double a = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) a += x[i] * y[i];
  s[threadIdx.x] = a;
  __syncthreads();
  for (int k = 128; k; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = s[0];
}

__global__ void scaleInto(double* p, double* q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = q[i] * 0.3;
}

class PowerSolver {
 public:
  PowerSolver(int n, int iters) : n_(n), iters_(iters), rowptr_(n + 1), col_(3 * n), val_(3 * n), p_(n), q_(n), rq_(iters) {
    std::vector<int> rp{0}, c;
    std::vector<double> v;
    for (int r = 0; r < n; ++r) {
      for (int k = r - 1; k <= r + 1; ++k)
        if (k >= 0 && k < n) { c.push_back(k); v.push_back(k == r ? 2.0 : 0.75); }
      rp.push_back(static_cast<int>(c.size()));
    }
    rowptr_.upload(rp); col_.upload(c); val_.upload(v);
    p_.upload(std::vector<double>(n, 1.0));
    q_.upload(std::vector<double>(n, 0.0));
    V(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    V(cudaStreamCreateWithFlags(&reduce_, cudaStreamNonBlocking));
    V(cudaEventCreateWithFlags(&spmvDone_, cudaEventDisableTiming));
    V(cudaEventCreateWithFlags(&dotDone_, cudaEventDisableTiming));
    V(cudaDeviceSynchronize());
  }
  ~PowerSolver() {
    cudaEventDestroy(dotDone_); cudaEventDestroy(spmvDone_);
    cudaStreamDestroy(reduce_); cudaStreamDestroy(compute_);
  }
  void iterate(int it) {
    CsrView m{rowptr_.data(), col_.data(), val_.data(), n_};
    const int grid = (n_ + 127) / 128;
    V(cudaStreamWaitEvent(reduce_, spmvDone_, 0));
    spmv<<<grid, 128, 0, compute_>>>(m, p_.data(), q_.data());
    V(cudaEventRecord(spmvDone_, compute_));
    dot<<<1, 256, 0, reduce_>>>(p_.data(), q_.data(), rq_.data() + it, n_);  // expect: SS109
    V(cudaEventRecord(dotDone_, reduce_));
    V(cudaStreamWaitEvent(compute_, dotDone_, 0));
    scaleInto<<<grid, 128, 0, compute_>>>(p_.data(), q_.data(), n_);
  }
  double run() {
    for (int i = 0; i < iters_; ++i) iterate(i);
    V(cudaDeviceSynchronize());
    std::vector<double> h(iters_);
    V(cudaMemcpy(h.data(), rq_.data(), iters_ * sizeof(double), cudaMemcpyDeviceToHost));
    double s = 0;
    for (int i = 0; i < iters_; ++i) s += h[i] * (i + 1);
    return s;
  }
 private:
  int n_, iters_;
  DeviceVector<int> rowptr_, col_;
  DeviceVector<double> val_, p_, q_, rq_;
  cudaStream_t compute_{}, reduce_{};
  cudaEvent_t spmvDone_{}, dotDone_{};
};

int main() {
  try {
    PowerSolver solver(4096, 16);
    std::printf("rayleigh trace %.6f\n", solver.run());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
