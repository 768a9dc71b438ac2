// Every frame takes a scratch buffer in a struct of its own and forgets it.
#include <cuda_runtime.h>
#include <cstdio>
#include <stdexcept>

#define CUDA_TRY(x)                                                              \
    do {                                                                         \
        cudaError_t const status = (x);                                          \
        if (cudaSuccess != status) {                                             \
            cudaGetLastError();                                                  \
            throw std::runtime_error(cudaGetErrorName(status));                  \
        }                                                                        \
    } while (0)

struct Frame {
    int width, height;
    float* pixels = nullptr;
    float* scratch = nullptr;
};

__global__ void sobel(const float* pixels, float* scratch, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x > 0 && x < width && y < height) scratch[y * width + x] = pixels[y * width + x] - pixels[y * width + x - 1];
}

static void process(float* pixels, int width, int height)
{
    Frame frame{width, height};
    frame.pixels = pixels;
    CUDA_TRY(cudaMalloc(&frame.scratch, sizeof(float) * width * height));  // expect: SS305
    sobel<<<dim3((width + 127) / 128, height), 128>>>(frame.pixels, frame.scratch, width, height);
    CUDA_TRY(cudaDeviceSynchronize());
}

int main()
{
    const int width = 640, height = 480;
    float* pixels;
    CUDA_TRY(cudaMalloc(&pixels, sizeof(float) * width * height));
    CUDA_TRY(cudaMemset(pixels, 0, sizeof(float) * width * height));
    for (int i = 0; i < 5; ++i) process(pixels, width, height);
    CUDA_TRY(cudaFree(pixels));
    std::puts("done");
    return 0;
}
