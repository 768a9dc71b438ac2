// Two streams assemble an image from column tiles; the second tile is stored with its halo, over the first one's last columns.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int tiles = 2, halo = 16;

__global__ void blur(const float* in, float* out, int columns, int rows)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < columns && y < rows) out[y * columns + x] = 0.5f * in[y * columns + x];
}

struct Tile {
    cudaStream_t stream = nullptr;
    float *in = nullptr, *out = nullptr;
    int first, columns;  // with the halo on the left, if there is one
    int kept;            // the first column of its own

    Tile(int index, int width, int rows)
        : first(index == 0 ? 0 : index * width / tiles - halo),
          columns(width / tiles + (index == 0 ? 0 : halo)),
          kept(index == 0 ? 0 : halo)
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaMalloc(&in, sizeof(float) * columns * rows));
        CHECK(cudaMalloc(&out, sizeof(float) * columns * rows));
    }
};

class Image {
public:
    Image(int width, int rows) : width_(width), rows_(rows)
    {
        CHECK(cudaMallocHost(&pixels_, sizeof(float) * width * rows));
        CHECK(cudaMallocHost(&result_, sizeof(float) * width * rows));
        for (int i = 0; i < width * rows; ++i) pixels_[i] = float(i % 255);
    }
    ~Image()
    {
        cudaFreeHost(result_);
        cudaFreeHost(pixels_);
    }
    void upload(const Tile& tile) const
    {
        CHECK(cudaMemcpy2DAsync(tile.in, sizeof(float) * tile.columns, pixels_ + tile.first, sizeof(float) * width_,
                                sizeof(float) * tile.columns, rows_, cudaMemcpyHostToDevice, tile.stream));
    }
    void download(const Tile& tile)
    {
        CHECK(cudaMemcpy2DAsync(result_ + tile.first, sizeof(float) * width_, tile.out,  // expect: SS109
                                sizeof(float) * tile.columns, sizeof(float) * tile.columns, rows_,
                                cudaMemcpyDeviceToHost, tile.stream));
    }
    float at(int x, int y) const { return result_[y * width_ + x]; }

private:
    int width_, rows_;
    float *pixels_ = nullptr, *result_ = nullptr;
};

int main()
{
    const int width = 1024, rows = 512;
    Image image(width, rows);
    std::vector<Tile> all;
    for (int i = 0; i < tiles; ++i) all.emplace_back(i, width, rows);
    for (Tile& tile : all) {
        image.upload(tile);
        blur<<<dim3((tile.columns + 255) / 256, rows), 256, 0, tile.stream>>>(tile.in, tile.out, tile.columns, rows);
        image.download(tile);
    }
    for (Tile& tile : all) CHECK(cudaStreamSynchronize(tile.stream));
    std::printf("%g\n", image.at(3, 3));
    for (Tile& tile : all) {
        CHECK(cudaFree(tile.in));
        CHECK(cudaFree(tile.out));
        CHECK(cudaStreamDestroy(tile.stream));
    }
    return 0;
}
