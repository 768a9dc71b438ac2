// Each lane of a pipeline has its stream, but a helper takes the workspace of every lane from lane 0.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(x)                                           \
    do {                                                        \
        cudaError_t e = (x);                                    \
        if (e != cudaSuccess) {                                 \
            std::printf("%s: %s\n", #x, cudaGetErrorString(e)); \
            std::exit(1);                                       \
        }                                                       \
    } while (0)

constexpr int kLanes = 3;

struct Lane {
    cudaStream_t stream = nullptr;
    float* workspace = nullptr;
    std::size_t bytes = 0;
};

struct Pipeline {
    std::array<Lane, kLanes> lanes;
    float* result = nullptr;
};

__global__ void blur(float* workspace, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) workspace[i] = 0.25f * i;
}

void reserve(Lane& lane, std::size_t bytes, cudaStream_t stream)
{
    CUDA_CHECK(cudaMallocAsync(&lane.workspace, bytes, stream));
    lane.bytes = bytes;
}

void open(Pipeline& p, std::size_t bytes)
{
    for (Lane& lane : p.lanes) CUDA_CHECK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
    for (Lane& lane : p.lanes) {
        reserve(lane, bytes, lane.stream);
    }
}

void close(Pipeline& p)
{
    for (Lane& lane : p.lanes) {
        CUDA_CHECK(cudaFreeAsync(lane.workspace, lane.stream));
        CUDA_CHECK(cudaStreamSynchronize(lane.stream));
        CUDA_CHECK(cudaStreamDestroy(lane.stream));
    }
}

int main()
{
    const int n = 1 << 18;
    Pipeline p;
    open(p, n * sizeof(float));
    for (int i = 0; i < kLanes; ++i) {
        blur<<<n / 256, 256, 0, p.lanes[i].stream>>>(p.lanes[i].workspace, n);
    }
    close(p);
    return 0;
}
