// Grids, blocks and shared memory in braces, in the chevrons themselves: the column pass does not wait for the row pass.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

struct TileShape {
    unsigned width, height;
};

__global__ void rows(float* image, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) image[y * width + x] += 1.0f;
}

__global__ void columns(const float* image, float* out, int width, int height)
{
    extern __shared__ float tile[];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    tile[threadIdx.y * blockDim.x + threadIdx.x] = image[y * width + x];
    out[x * height + y] = tile[threadIdx.y * blockDim.x + threadIdx.x];
}

int main()
{
    constexpr int width = 512, height = 256;
    float *image, *turned;
    cudaStream_t first, second;
    cudaEvent_t done;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    CHECK(cudaMalloc(&image, width * height * sizeof(float)));
    CHECK(cudaMalloc(&turned, width * height * sizeof(float)));
    CHECK(cudaMemsetAsync(image, 0, width * height * sizeof(float), first));
    rows<<<dim3{width / 32, height / 8}, dim3{32, 8}, 0, first>>>(image, width, height);
    CHECK(cudaEventRecord(done, first));
    columns<<<{width / 16, height / 16, 1}, {TileShape{16, 16}.width, 16, 1}, sizeof(float[16][16]), second>>>(  // expect: SS109
        image, turned, width, height);
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaFree(turned));
    CHECK(cudaFree(image));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaStreamDestroy(first));
    return 0;
}
