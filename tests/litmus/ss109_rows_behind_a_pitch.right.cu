// The upper half of an image is sharpened while its lower half is downloaded.
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

template <class T>
struct Image {
    struct Rows {
        char* first;
        size_t pitch;
        int width, height;
        __device__ T* operator[](int y) const { return reinterpret_cast<T*>(first + y * pitch); }
    };
    T* pixels = nullptr;
    size_t pitch = 0;
    int width, height;

    Image(int width, int height) : width(width), height(height)
    {
        CHECK(cudaMallocPitch(&pixels, &pitch, width * sizeof(T), height));
    }
    ~Image() { cudaFree(pixels); }
    T* row(int y) const { return reinterpret_cast<T*>(reinterpret_cast<char*>(pixels) + y * pitch); }
    Rows rows(int begin, int end) const { return {reinterpret_cast<char*>(row(begin)), pitch, width, end - begin}; }
};

template <class Rows>
__global__ void sharpen(Rows rows, float by)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < rows.width && y < rows.height) rows[y][x] *= by;
}

__global__ void clear(float* pixels, size_t pitch, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float* row = (float*)((char*)pixels + y * pitch);
    row[x] = 0;
}

int main()
{
    constexpr int width = 300, height = 128, half = height / 2;
    const dim3 threads(32, 8), blocks((width + 31) / 32, half / 8);
    cudaStream_t compute, transfer;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&transfer, cudaStreamNonBlocking));
    float* host = nullptr;
    CHECK(cudaMallocHost(&host, width * height * sizeof(float)));
    {
        Image<float> image(width, height);
        clear<<<dim3(blocks.x, height / 8), threads, 0, transfer>>>(image.pixels, image.pitch, width, height);
        CHECK(cudaStreamSynchronize(transfer));
        sharpen<<<blocks, threads, 0, compute>>>(image.rows(0, half), 1.5f);
        CHECK(cudaMemcpy2DAsync(host, width * sizeof(float), image.row(half), image.pitch, width * sizeof(float),
                                half, cudaMemcpyDeviceToHost, transfer));
        CHECK(cudaStreamSynchronize(transfer));
        CHECK(cudaStreamSynchronize(compute));
    }
    std::printf("%f\n", host[0]);
    CHECK(cudaFreeHost(host));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(transfer));
    return 0;
}
