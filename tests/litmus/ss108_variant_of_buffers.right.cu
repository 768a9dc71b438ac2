// A tensor lies on the host or on the device: a variant. A visitor downloads it, and the host reads before the copy is done.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <variant>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

constexpr int kCount = 1 << 12;

struct OnDevice {
    float* p;
};
struct OnHost {
    float* p;
};
using Tensor = std::variant<OnDevice, OnHost>;

__global__ void iota(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = i;
}

struct ToHost {
    float* staging;
    cudaStream_t stream;
    float* operator()(const OnHost& tensor) const { return tensor.p; }
    float* operator()(const OnDevice& tensor) const
    {
        CHECK(cudaMemcpyAsync(staging, tensor.p, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        return staging;
    }
};

int main()
{
    float *device, *pinned;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void**)&device, kCount * sizeof(float)));
    CHECK(cudaMallocHost((void**)&pinned, kCount * sizeof(float)));
    iota<<<kCount / 256, 256, 0, stream>>>(device, kCount);
    Tensor tensor = OnDevice{device};
    const float* values = std::visit(ToHost{pinned, stream}, tensor);
    float sum = 0;
    for (int i = 0; i < kCount; ++i) sum += values[i];
    std::printf("%f\n", sum);
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
