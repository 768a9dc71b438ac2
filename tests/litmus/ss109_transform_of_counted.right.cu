// Exposure correction with thrust execution policies on two streams.
#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OKAY(expr) \
    if (cudaError_t err = (expr)) { std::fprintf(stderr, "%s (line %d)\n", cudaGetErrorString(err), __LINE__); std::exit(1); }

struct Expose {
    int exposure;
    long long cycles;
    __device__ int operator()(int pixel) const {
        long long t0 = clock64();
        while (clock64() - t0 < cycles) {}
        return (pixel % 4093) * exposure;
    }
};
struct Threshold {
    int limit;
    __device__ int operator()(int v) const { return v > limit ? v - limit : 0; }
};

template <class T>
class Buffer {
public:
    explicit Buffer(size_t n) : n_(n) { OKAY(cudaMalloc(&p_, n * sizeof(T))); OKAY(cudaMemset(p_, 0, n * sizeof(T))); }
    ~Buffer() { cudaFree(p_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    thrust::device_ptr<T> begin() const { return thrust::device_pointer_cast(p_); }
    thrust::device_ptr<T> end() const { return begin() + n_; }
    T* raw() const { return p_; }
private:
    T* p_ = nullptr;
    size_t n_;
};

class ExposurePipeline {
public:
    explicit ExposurePipeline(int pixels) : pixels_(pixels), corrected_(pixels), excess_(pixels) {
        OKAY(cudaStreamCreateWithFlags(&ingest_, cudaStreamNonBlocking));
        OKAY(cudaStreamCreateWithFlags(&stats_, cudaStreamNonBlocking));
        OKAY(cudaEventCreateWithFlags(&corrected_ready_, cudaEventDisableTiming));
        OKAY(cudaMallocHost(&host_, pixels * sizeof(int)));
        OKAY(cudaDeviceSynchronize());
    }
    ~ExposurePipeline() {
        cudaStreamSynchronize(ingest_);
        cudaStreamSynchronize(stats_);
        cudaFreeHost(host_);
        cudaEventDestroy(corrected_ready_);
        cudaStreamDestroy(stats_);
        cudaStreamDestroy(ingest_);
    }
    const int* run(int exposure, int limit) {
        thrust::counting_iterator<int> first(0);
        thrust::transform(thrust::cuda::par_nosync.on(ingest_), first, first + pixels_, corrected_.begin(),
                          Expose{exposure, exposure > 0 ? 20'000'000LL : 0LL});
        OKAY(cudaEventRecord(corrected_ready_, ingest_));
        OKAY(cudaStreamWaitEvent(stats_, corrected_ready_, 0));
        thrust::transform(thrust::cuda::par_nosync.on(stats_), corrected_.begin(), corrected_.end(), excess_.begin(), Threshold{limit});
        OKAY(cudaMemcpyAsync(host_, excess_.raw(), pixels_ * sizeof(int), cudaMemcpyDeviceToHost, stats_));
        OKAY(cudaStreamSynchronize(stats_));
        return host_;
    }

private:
    int pixels_;
    Buffer<int> corrected_, excess_;
    cudaStream_t ingest_{}, stats_{};
    cudaEvent_t corrected_ready_{};
    int* host_ = nullptr;
};

int main() {
    const int pixels = 1 << 14;
    int bad = 0;
    {
        ExposurePipeline pipe(pixels);
        pipe.run(0, 0);
        for (int e = 1; e <= 4; ++e) {
            const int limit = 500 * e;
            const int* got = pipe.run(e, limit);
            for (int i = 0; i < pixels; ++i) {
                int v = (i % 4093) * e;
                bad += got[i] != (v > limit ? v - limit : 0);
            }
        }
    }
    std::printf("exposure pipeline: %d bad pixels\n", bad);
    return bad ? 1 : 0;
}
