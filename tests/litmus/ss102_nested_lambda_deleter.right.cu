// A factory returns a shared_ptr whose deleter is a lambda that captured the factory's stream; others use it elsewhere.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

struct Device {
    cudaStream_t transfer, compute[2];
    std::shared_ptr<int> allocate(int n)
    {
        int* p = nullptr;
        CHECK(cudaMallocAsync((void**)&p, n * sizeof(int), transfer));
        CHECK(cudaStreamSynchronize(transfer));
        return std::shared_ptr<int>(p, [stream = transfer](int* block) { cudaFreeAsync(block, stream); });
    }
    void finish(int lane) { CHECK(cudaStreamSynchronize(compute[lane])); }
};

__global__ void label(int* p, int what, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = what;
}

int main()
{
    const int n = 1 << 12;
    Device device;
    CHECK(cudaStreamCreateWithFlags(&device.transfer, cudaStreamNonBlocking));
    for (cudaStream_t& stream : device.compute) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    {
        std::vector<std::shared_ptr<int>> held;
        for (int lane = 0; lane < 2; ++lane) {
            held.push_back(device.allocate(n));
            label<<<n / 256, 256, 0, device.compute[lane]>>>(held.back().get(), lane, n);
        }
        device.finish(0);
        device.finish(1);
    }
    CHECK(cudaDeviceSynchronize());
    for (cudaStream_t stream : device.compute) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(device.transfer));
    return 0;
}
