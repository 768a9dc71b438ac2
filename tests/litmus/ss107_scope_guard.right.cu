// A scope guard frees the pinned staging buffer at the end of the function; the wait is in the caller, behind it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

template <typename Action>
class ScopeGuard {
public:
    explicit ScopeGuard(Action action) : action_(std::move(action)) {}
    ~ScopeGuard() { action_(); }
    ScopeGuard(const ScopeGuard&) = delete;

private:
    Action action_;
};

static void upload(float* device, int n, float value, cudaStream_t stream)
{
    float* staging = nullptr;
    CHECK(cudaMallocHost(&staging, n * sizeof(float)));
    ScopeGuard release([&] { cudaFreeHost(staging); });
    for (int i = 0; i < n; ++i) staging[i] = value;
    CHECK(cudaMemcpyAsync(device, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
}

int main()
{
    const int n = 1 << 12;
    float* device;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&device, n * sizeof(float)));
    upload(device, n, 3.5f, stream);
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
