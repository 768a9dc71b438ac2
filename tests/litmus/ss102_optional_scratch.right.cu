// Scratch memory in an optional: reset() gives it back to the pool while the other stream's kernel is still using it.
#include <cuda_runtime.h>
#include <optional>
#include <stdexcept>
#include <string>

static void check(cudaError_t status, const char* what)
{
    if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
#define CHECK(call) check(call, #call)

struct Scratch {
    float* data = nullptr;
    cudaStream_t owner;
    Scratch(int n, cudaStream_t stream) : owner(stream)
    {
        CHECK(cudaMallocAsync(reinterpret_cast<void**>(&data), n * sizeof(float), owner));
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { cudaFreeAsync(data, owner); }
};

__global__ void accumulate(float* scratch, const float* in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) scratch[i] = in[i] + 1.0f;
}

class Filter {
public:
    Filter()
    {
        CHECK(cudaStreamCreateWithFlags(&memory_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    }
    ~Filter()
    {
        cudaStreamSynchronize(compute_);
        scratch_.reset();
        cudaEventDestroy(event_);
        cudaStreamDestroy(compute_);
        cudaStreamDestroy(memory_);
    }
    void run(const float* in, int n, bool keep)
    {
        if (!scratch_) {
            scratch_.emplace(n, memory_);
            order(memory_, compute_);
        }
        accumulate<<<n / 256, 256, 0, compute_>>>(scratch_->data, in, n);
        if (!keep) {
            order(compute_, memory_);
            scratch_.reset();
        }
    }

private:
    void order(cudaStream_t first, cudaStream_t then)
    {
        CHECK(cudaEventRecord(event_, first));
        CHECK(cudaStreamWaitEvent(then, event_, 0));
    }
    cudaStream_t memory_, compute_;
    cudaEvent_t event_;
    std::optional<Scratch> scratch_;
};

int main()
{
    const int n = 1 << 16;
    float* in;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMemset(in, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    {
        Filter filter;
        filter.run(in, n, true);
        filter.run(in, n, false);
    }
    CHECK(cudaFree(in));
    return 0;
}
