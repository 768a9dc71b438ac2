// The host looks at a row of the tile that is being downloaded.
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

constexpr int width = 512, height = 256, half = width / 2;

__global__ void shade(unsigned char* pixels, int value) { pixels[blockIdx.x * half + threadIdx.x] = value + threadIdx.x; }

class Viewer {
public:
    Viewer()
    {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECK(cudaMalloc(&tile_, half * height));
        CHECK(cudaHostAlloc(&image_, width * height, cudaHostAllocDefault));
    }
    ~Viewer()
    {
        cudaFreeHost(image_);
        cudaFree(tile_);
        cudaStreamDestroy(stream_);
    }
    void render(int column)
    {
        shade<<<height, half, 0, stream_>>>(tile_, column);
        CHECK(cudaMemcpy2DAsync(image_ + column, width, tile_, half, half, height, cudaMemcpyDeviceToHost, stream_));
    }
    void wait() { CHECK(cudaStreamSynchronize(stream_)); }
    int brightness(int row, int column) const
    {
        const unsigned char* pixels = image_ + row * width + column;
        int sum = 0;
        for (int x = 0; x < half; ++x) sum += pixels[x];  // expect: SS108
        return sum;
    }

private:
    cudaStream_t stream_ = nullptr;
    unsigned char *tile_ = nullptr, *image_ = nullptr;
};

int main()
{
    Viewer viewer;
    viewer.render(0);
    viewer.wait();
    viewer.render(half);
    int seen = viewer.brightness(17, half);
    viewer.wait();
    std::printf("%d\n", seen);
    return 0;
}
