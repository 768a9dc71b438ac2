// A pitched image is downloaded into pinned memory and looked at before the stream was waited for.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <string>

#define CUDA_CHECK(x)                                                               \
    do {                                                                            \
        const cudaError_t err = (x);                                                \
        if (err != cudaSuccess) {                                                   \
            std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(err));          \
            std::exit(EXIT_FAILURE);                                                \
        }                                                                           \
    } while (0)

__global__ void gradient(unsigned char* image, size_t pitch, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) image[y * pitch + x] = (unsigned char)(x ^ y);
}

static bool save(const std::string& path, const unsigned char* pixels, int width, int height)
{
    FILE* file = std::fopen(path.c_str(), "wb");
    if (!file) return false;
    std::fprintf(file, "P5 %d %d 255\n", width, height);
    size_t written = std::fwrite(pixels, 1, size_t(width) * height, file);
    std::fclose(file);
    return written == size_t(width) * height;
}

int main(int argc, char** argv)
{
    const int width = 800, height = 600;
    std::string path = argc > 1 ? argv[1] : "gradient.pgm";
    unsigned char *image, *host;
    size_t pitch;
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaMallocPitch(&image, &pitch, width, height));
    CUDA_CHECK(cudaHostAlloc(&host, width * height, cudaHostAllocDefault));

    gradient<<<dim3(50, 38), dim3(16, 16), 0, stream>>>(image, pitch, width, height);
    CUDA_CHECK(cudaMemcpy2DAsync(host, width, image, pitch, width, height, cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    unsigned char corner = host[width * height - 1];
    bool saved = save(path, host, width, height);
    std::printf("%d %d\n", corner, saved);

    CUDA_CHECK(cudaFreeHost(host));
    CUDA_CHECK(cudaFree(image));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return saved ? 0 : 1;
}
