// Adaptive beamformer. Weights are double buffered (two halves of one allocation):
// the DSP graph uses the front half while the control stream computes the back half.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY_CUDA(x)                                                           \
  do {                                                                        \
    cudaError_t tc = (x);                                                     \
    if (tc != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(tc));     \
      std::exit(1);                                                           \
    }                                                                         \
  } while (0)

constexpr int kElements = 64;
constexpr int kSnapshots = 2048;
constexpr int kBlocks = 16;

__global__ void designWeights(float* w, int block) {
  w[threadIdx.x] = 0.01f * float((threadIdx.x * 5 + block * 3) % 29);
}

__global__ void formBeam(const float* samples, const float* w, float* beam) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float a = 0;
  for (int e = 0; e < kElements; ++e) a += samples[t] * w[e];
  beam[t] = a;
}

__global__ void estimatePower(const float* w, const float* beam, double* power, int* index) {
  long long t0 = clock64();
  while (clock64() - t0 < 300000) {
  }
  double p = 0;
  for (int e = 0; e < kElements; ++e) p += double(w[e]) * w[e];
  for (int t = 0; t < kSnapshots; t += 128) p += beam[t] * 1e-3;
  power[*index] = p;
  *index += 1;
}

class Beamformer {
 public:
  Beamformer() {
    TRY_CUDA(cudaMalloc(&weights_, 2 * kElements * sizeof(float)));
    TRY_CUDA(cudaMalloc(&samples_, kSnapshots * sizeof(float)));
    TRY_CUDA(cudaMalloc(&beam_, kSnapshots * sizeof(float)));
    TRY_CUDA(cudaMalloc(&power_, kBlocks * sizeof(double)));
    TRY_CUDA(cudaMalloc(&index_, sizeof(int)));
    TRY_CUDA(cudaMemset(index_, 0, sizeof(int)));
    std::vector<float> h(kSnapshots);
    for (int i = 0; i < kSnapshots; ++i) h[i] = float(i % 23) - 11.f;
    TRY_CUDA(cudaMemcpy(samples_, h.data(), kSnapshots * sizeof(float), cudaMemcpyHostToDevice));
    designWeights<<<1, kElements>>>(half(0), 0);
    designWeights<<<1, kElements>>>(half(1), 0);
    TRY_CUDA(cudaDeviceSynchronize());
    TRY_CUDA(cudaStreamCreateWithFlags(&dsp_, cudaStreamNonBlocking));
    TRY_CUDA(cudaStreamCreateWithFlags(&control_, cudaStreamNonBlocking));
    TRY_CUDA(cudaEventCreateWithFlags(&dspDone_, cudaEventDisableTiming));
    TRY_CUDA(cudaEventCreateWithFlags(&designed_, cudaEventDisableTiming));
    build();
  }
  ~Beamformer() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
    cudaEventDestroy(designed_);
    cudaEventDestroy(dspDone_);
    cudaStreamDestroy(control_);
    cudaStreamDestroy(dsp_);
    cudaFree(index_); cudaFree(power_); cudaFree(beam_); cudaFree(samples_); cudaFree(weights_);
  }
  void process(int b) {
    const int front = b & 1;
    bind(half(front));
    TRY_CUDA(cudaStreamWaitEvent(control_, dspDone_, 0));   // block b-1 released the back half
    TRY_CUDA(cudaStreamWaitEvent(dsp_, designed_, 0));      // front half is complete
    TRY_CUDA(cudaGraphLaunch(exec_, dsp_));
    TRY_CUDA(cudaEventRecord(dspDone_, dsp_));
    designWeights<<<1, kElements, 0, control_>>>(half(front ^ 1), b + 1);  // expect: SS109
    TRY_CUDA(cudaEventRecord(designed_, control_));
  }
  double total() {
    TRY_CUDA(cudaDeviceSynchronize());
    std::vector<double> h(kBlocks);
    TRY_CUDA(cudaMemcpy(h.data(), power_, kBlocks * sizeof(double), cudaMemcpyDeviceToHost));
    double s = 0;
    for (int b = 0; b < kBlocks; ++b) s += h[b] * (b + 1);
    return s;
  }

 private:
  float* half(int i) const { return weights_ + i * kElements; }
  void setArgs(float* w) {
    bound_ = w;
    beam_args_[0] = &samples_; beam_args_[1] = &bound_; beam_args_[2] = &beam_;
    power_args_[0] = &bound_; power_args_[1] = &beam_; power_args_[2] = &power_; power_args_[3] = &index_;
    beamParams_ = cudaKernelNodeParams{};
    beamParams_.func = reinterpret_cast<void*>(formBeam);
    beamParams_.gridDim = dim3(kSnapshots / 128);
    beamParams_.blockDim = dim3(128);
    beamParams_.kernelParams = beam_args_;
    powerParams_ = cudaKernelNodeParams{};
    powerParams_.func = reinterpret_cast<void*>(estimatePower);
    powerParams_.gridDim = dim3(1);
    powerParams_.blockDim = dim3(1);
    powerParams_.kernelParams = power_args_;
  }
  void build() {
    setArgs(half(0));
    TRY_CUDA(cudaGraphCreate(&graph_, 0));
    TRY_CUDA(cudaGraphAddKernelNode(&beamNode_, graph_, nullptr, 0, &beamParams_));
    TRY_CUDA(cudaGraphAddKernelNode(&powerNode_, graph_, &beamNode_, 1, &powerParams_));
    TRY_CUDA(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  void bind(float* w) {
    setArgs(w);
    TRY_CUDA(cudaGraphExecKernelNodeSetParams(exec_, beamNode_, &beamParams_));
  }
  float *weights_ = nullptr, *samples_ = nullptr, *beam_ = nullptr, *bound_ = nullptr;
  double* power_ = nullptr;
  int* index_ = nullptr;
  void* beam_args_[3]{};
  void* power_args_[4]{};
  cudaKernelNodeParams beamParams_{}, powerParams_{};
  cudaStream_t dsp_{}, control_{};
  cudaEvent_t dspDone_{}, designed_{};
  cudaGraph_t graph_{};
  cudaGraphExec_t exec_{};
  cudaGraphNode_t beamNode_{}, powerNode_{};
};

int main() {
  Beamformer bf;
  for (int b = 0; b < kBlocks; ++b) bf.process(b);
  std::printf("beam power %.6f\n", bf.total());
  return 0;
}
