// FIR filter bank: taps live in constant memory and are swapped per frame by a config stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace fir {

constexpr int kTaps = 8;
constexpr int kSamples = 1 << 13;

__constant__ int c_taps[kTaps];

[[noreturn]] static void panic(cudaError_t e, int line) {
    std::fprintf(stderr, "fir line %d: %s\n", line, cudaGetErrorString(e));
    std::exit(1);
}
#define FIR_OK(x) do { if (cudaError_t e_ = (x)) ::fir::panic(e_, __LINE__); } while (0)

__global__ void filter(const int* in, int* out, int n, int taps, long long cycles) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int acc = 0;
    for (int t = 0; t < taps; ++t) {
        long long t0 = clock64();
        while (clock64() - t0 < cycles) {}
        if (i < n && i >= t) acc += c_taps[t] * in[i - t];
    }
    if (i < n) out[i] = acc;
}

class FilterBank {
public:
    explicit FilterBank(int frames) : frames_(frames) {
        FIR_OK(cudaStreamCreateWithFlags(&config_, cudaStreamNonBlocking));
        FIR_OK(cudaStreamCreateWithFlags(&dsp_, cudaStreamNonBlocking));
        FIR_OK(cudaEventCreateWithFlags(&configured_, cudaEventDisableTiming));
        FIR_OK(cudaEventCreateWithFlags(&lastUse_, cudaEventDisableTiming));
        FIR_OK(cudaMalloc(&in_, size_t(frames) * kSamples * sizeof(int)));
        FIR_OK(cudaMalloc(&out_, size_t(frames) * kSamples * sizeof(int)));
        FIR_OK(cudaMallocHost(&tapRing_, size_t(frames) * kTaps * sizeof(int)));
        cudaFuncAttributes fa;
        FIR_OK(cudaFuncGetAttributes(&fa, filter));
    }
    ~FilterBank() {
        cudaStreamSynchronize(config_);
        cudaStreamSynchronize(dsp_);
        cudaFreeHost(tapRing_);
        cudaFree(in_);
        cudaFree(out_);
        cudaEventDestroy(configured_);
        cudaEventDestroy(lastUse_);
        cudaStreamDestroy(config_);
        cudaStreamDestroy(dsp_);
    }
    void load(const std::vector<int>& samples) {
        FIR_OK(cudaMemcpyAsync(in_, samples.data(), samples.size() * sizeof(int), cudaMemcpyHostToDevice, dsp_));
        FIR_OK(cudaStreamSynchronize(dsp_));
    }
    void configure(int frame, const std::vector<int>& taps) {
        int* slot = tapRing_ + frame * kTaps;
        for (int t = 0; t < kTaps; ++t) slot[t] = taps[t];
        FIR_OK(cudaStreamWaitEvent(config_, lastUse_, 0));
        FIR_OK(cudaMemcpyToSymbolAsync(c_taps, slot, kTaps * sizeof(int), 0, cudaMemcpyHostToDevice, config_));
        FIR_OK(cudaEventRecord(configured_, config_));
    }
    void run(int frame) {
        FIR_OK(cudaStreamWaitEvent(dsp_, configured_, 0));
        const size_t off = size_t(frame) * kSamples;
        filter<<<kSamples / 128, 128, 0, dsp_>>>(in_ + off, out_ + off, kSamples, kTaps, 5'000'000LL);
        FIR_OK(cudaGetLastError());
        FIR_OK(cudaEventRecord(lastUse_, dsp_));
    }
    std::vector<int> results() {
        std::vector<int> h(size_t(frames_) * kSamples);
        FIR_OK(cudaMemcpyAsync(h.data(), out_, h.size() * sizeof(int), cudaMemcpyDeviceToHost, dsp_));
        FIR_OK(cudaStreamSynchronize(dsp_));
        return h;
    }

private:
    int frames_;
    cudaStream_t config_{}, dsp_{};
    cudaEvent_t configured_{}, lastUse_{};
    int *in_{}, *out_{}, *tapRing_{};
};

}  // namespace fir

int main() {
    using namespace fir;
    const int frames = 6;
    std::vector<int> samples(size_t(frames) * kSamples);
    for (size_t i = 0; i < samples.size(); ++i) samples[i] = int((i * 73) % 509) - 250;
    auto tapsFor = [](int f) {
        std::vector<int> t(kTaps);
        for (int k = 0; k < kTaps; ++k) t[k] = (k + 1) * (f + 1);
        return t;
    };
    std::vector<int> got;
    {
        FilterBank bank(frames);
        bank.load(samples);
        for (int f = 0; f < frames; ++f) {
            bank.configure(f, tapsFor(f));
            bank.run(f);
        }
        got = bank.results();
    }
    int bad = 0;
    for (int f = 0; f < frames; ++f) {
        const auto taps = tapsFor(f);
        const int* x = samples.data() + size_t(f) * kSamples;
        for (int i = 0; i < kSamples; ++i) {
            int acc = 0;
            for (int t = 0; t < kTaps && t <= i; ++t) acc += taps[t] * x[i - t];
            bad += acc != got[size_t(f) * kSamples + i];
        }
    }
    std::printf("filter bank: %d wrong samples\n", bad);
    return bad ? 1 : 0;
}
