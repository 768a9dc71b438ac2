// Two halves of a field, one stream each; the halo of the right half is copied before the left half is written.
// On hardware the left half is delayed, and the right one computes with the old border.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                           \
    if (const cudaError_t status = (call); status != cudaSuccess) {                           \
        std::printf("error: %s in %s\n", cudaGetErrorName(status), #call);                    \
        std::exit(1);                                                                         \
    }

constexpr int kCells = 1 << 18;

__global__ void slow_boundary(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void advance(int* cells, int start)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kCells) cells[i] = start + i;
}

__global__ void couple(int* cells, const int* halo)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kCells) cells[i] += halo[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const size_t bytes = kCells * sizeof(int);
    std::vector<cudaStream_t> streams(2);
    std::vector<int*> halves(2);
    for (int side = 0; side < 2; ++side) {
        CHECK(cudaStreamCreateWithFlags(&streams[side], cudaStreamNonBlocking));
        CHECK(cudaMalloc(&halves[side], bytes));
        CHECK(cudaMemsetAsync(halves[side], 0xff, bytes, streams[side]));
    }
    int* halo;
    CHECK(cudaMalloc(&halo, bytes));
    CHECK(cudaDeviceSynchronize());

    slow_boundary<<<1, 1, 0, streams[0]>>>(100'000'000);
    for (int side = 0; side < 2; ++side) advance<<<kCells / 256, 256, 0, streams[side]>>>(halves[side], 1000 * side);
    CHECK(cudaMemcpyAsync(halo, halves[0], bytes, cudaMemcpyDeviceToDevice, streams[1]));  // expect: SS109
    couple<<<kCells / 256, 256, 0, streams[1]>>>(halves[1], halo);

    for (auto stream : streams) CHECK(cudaStreamSynchronize(stream));
    std::vector<int> host(kCells);
    CHECK(cudaMemcpy(host.data(), halves[1], bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(halo));
    for (int side = 0; side < 2; ++side) {
        CHECK(cudaFree(halves[side]));
        CHECK(cudaStreamDestroy(streams[side]));
    }
    int wrong = 0;
    for (int i = 0; i < kCells; ++i) wrong += host[i] != 1000 + 2 * i;
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
