// The histogram of the next frame is cleared on the copy stream while the compute stream still counts into it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int bins = 256;

__global__ void count_values(const unsigned char* pixels, unsigned* histogram, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&histogram[pixels[i]], 1u);
}

class Counter {
public:
    explicit Counter(int n) : n_(n)
    {
        CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&cleared_, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&counted_, cudaEventDisableTiming));
        CHECK(cudaMalloc(&pixels_, n));
        CHECK(cudaMalloc(&histogram_, bins * sizeof(unsigned)));
        CHECK(cudaMallocHost(&result_, bins * sizeof(unsigned)));
        CHECK(cudaMemsetAsync(pixels_, 7, n, compute_));
    }
    ~Counter()
    {
        cudaFreeHost(result_);
        cudaFree(histogram_);
        cudaFree(pixels_);
        cudaEventDestroy(counted_);
        cudaEventDestroy(cleared_);
        cudaStreamDestroy(copy_);
        cudaStreamDestroy(compute_);
    }
    void clear()
    {
        CHECK(cudaMemsetAsync(histogram_, 0, bins * sizeof(unsigned), copy_));  // expect: SS109
        CHECK(cudaEventRecord(cleared_, copy_));
    }
    void count()
    {
        CHECK(cudaStreamWaitEvent(compute_, cleared_, 0));
        count_values<<<64, 256, 0, compute_>>>(pixels_, histogram_, n_);
        CHECK(cudaEventRecord(counted_, compute_));
    }
    void fetch()
    {
        CHECK(cudaStreamWaitEvent(copy_, counted_, 0));
        CHECK(cudaMemcpyAsync(result_, histogram_, bins * sizeof(unsigned), cudaMemcpyDeviceToHost, copy_));
    }
    unsigned finish()
    {
        CHECK(cudaStreamSynchronize(copy_));
        CHECK(cudaStreamSynchronize(compute_));
        return result_[7];
    }

private:
    int n_;
    cudaStream_t compute_ = nullptr, copy_ = nullptr;
    cudaEvent_t cleared_ = nullptr, counted_ = nullptr;
    unsigned char* pixels_ = nullptr;
    unsigned *histogram_ = nullptr, *result_ = nullptr;
};

int main()
{
    Counter counter(1 << 20);
    counter.clear();
    counter.count();
    counter.clear();  // for the next frame
    counter.count();
    counter.fetch();
    std::printf("%u\n", counter.finish());
    return 0;
}
