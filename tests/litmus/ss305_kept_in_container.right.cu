// The right program keeps every pointer in a container and frees them all.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                        \
    do {                                                     \
        cudaError_t e = (x);                                 \
        if (e != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(e));  \
            exit(1);                                         \
        }                                                    \
    } while (0)

struct Tile {
    float* data;
    int width;
};

__global__ void paint(float* p, float shade, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = shade;
}

int main()
{
    const int count = 5, n = 64 * 64;
    std::vector<Tile> tiles;
    for (int i = 0; i < count; ++i) {
        Tile tile;
        tile.width = 64;
        CUDA_CHECK(cudaMalloc(&tile.data, n * sizeof(float)));
        paint<<<n / 256, 256>>>(tile.data, 0.1f * i, n);
        tiles.push_back(tile);
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    for (const Tile& tile : tiles) CUDA_CHECK(cudaFree(tile.data));
    return 0;
}
