// An exception leaves a step; its handler frees what the owner's destructor frees as well.
#include <cuda_runtime.h>
#include <cstdio>
#include <stdexcept>
#include <string>

static void check(cudaError_t status, const char* what)
{
    if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
#define CHECK(call) check(call, #call)

struct Buffer {
    float* data = nullptr;
    explicit Buffer(int n) { CHECK(cudaMalloc(&data, n * sizeof(float))); }
    ~Buffer() { cudaFree(data); }
    Buffer(const Buffer&) = delete;
};

__global__ void scale(float* p, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = by * i;
}

static void step(Buffer& buffer, int n, float by)
{
    scale<<<n / 256, 256>>>(buffer.data, by, n);
    CHECK(cudaDeviceSynchronize());
    if (by <= 0) throw std::invalid_argument("the factor is not positive");
}

int main()
{
    const int n = 4096;
    Buffer buffer(n);
    try {
        step(buffer, n, 2.0f);
        step(buffer, n, -1.0f);
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    return 0;
}
