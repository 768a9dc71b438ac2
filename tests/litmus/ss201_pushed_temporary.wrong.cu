// Buffers go into a vector as temporaries. Without a move constructor the copy in the vector and the temporary own one block.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void fill(float* p, float value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = value;
}

class Tile {
public:
    explicit Tile(int n) : count(n) { CHECK(cudaMalloc(&data, n * sizeof(float))); }
    ~Tile()
    {
        if (data) cudaFree(data);  // expect: SS201
    }
    Tile(const Tile& other) = default;

    float* data = nullptr;
    int count;
};

int main()
{
    std::vector<Tile> tiles;
    tiles.reserve(3);
    for (int i = 0; i < 3; ++i) tiles.push_back(Tile(1024 << i));
    for (Tile& tile : tiles) fill<<<tile.count / 256, 256>>>(tile.data, 1.0f, tile.count);  // expect: SS101
    CHECK(cudaDeviceSynchronize());
    return 0;
}
