// A pool of the program's own: the list of tiles is allocated in stream 0, each tile is filled in another stream.
// On hardware the first tile is the block of the mosaic before, which stream 0 has still to flatten.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        if (cudaError_t status = (call); status != cudaSuccess) {                               \
            std::printf("error: %s, line %d\n", cudaGetErrorString(status), __LINE__);          \
            std::exit(1);                                                                       \
        }                                                                                       \
    } while (0)

__global__ void delay(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void paint(int* tile, int color, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tile[i] = color;
}

__global__ void flatten(const int* tile, int* image, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) image[i] = tile[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20;
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    std::vector<cudaStream_t> streams(3);
    for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int *image, *mosaic;
    CHECK(cudaMalloc(&image, n * sizeof(int)));

    CHECK(cudaMallocFromPoolAsync(&mosaic, n * sizeof(int), pool, streams[0]));
    paint<<<n / 256, 256, 0, streams[0]>>>(mosaic, 0x00c0ffee, n);
    CHECK(cudaStreamSynchronize(streams[0]));
    delay<<<1, 1, 0, streams[0]>>>(100'000'000);
    flatten<<<n / 256, 256, 0, streams[0]>>>(mosaic, image, n);
    CHECK(cudaFreeAsync(mosaic, streams[0]));

    std::vector<int*> tiles(2);
    for (auto& tile : tiles) CHECK(cudaMallocFromPoolAsync(&tile, n * sizeof(int), pool, streams[0]));
    for (int i = 0; i < 2; ++i) {
        paint<<<n / 256, 256, 0, streams[i + 1]>>>(tiles[i], i, n);  // expect: SS103
        CHECK(cudaFreeAsync(tiles[i], streams[i + 1]));
    }

    CHECK(cudaDeviceSynchronize());
    std::vector<int> host(n);
    CHECK(cudaMemcpy(host.data(), image, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(image));
    for (auto stream : streams) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaMemPoolDestroy(pool));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 0x00c0ffee;
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
