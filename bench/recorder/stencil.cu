// A stencil code as they are written: the grid is cut in two halves, each on a stream of its own, that swap their edge rows by copies
// and wait for each other's by events. Prints the microseconds of one sweep: the least of some rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "check.cuh"

namespace {

constexpr int width = 2048, rows = 1024;  // of a half, without the two rows that it gets from the other

__global__ void sweep(const float* from, float* to)
{
    const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), y = static_cast<int>(blockIdx.y) + 1;
    if (x == 0 || x >= width - 1) return;
    const float* at = from + static_cast<size_t>(y) * width + x;
    to[static_cast<size_t>(y) * width + x] = 0.25f * (at[-1] + at[1] + at[-width] + at[width]);
}

struct Half {
    float* grid[2];
    cudaStream_t stream;
    cudaEvent_t swept, taken;
};

float* row(float* grid, int number) { return grid + static_cast<size_t>(number) * width; }

void sweeps(Half (&halves)[2], int count)
{
    const dim3 blocks((width + 255) / 256, rows);
    for (int i = 0; i < count; ++i) {
        const int from = i % 2, to = 1 - from;
        for (Half& half : halves) {
            // The other half has taken our edge of the sweep before the last: the rows may be written again.
            CHECK(cudaStreamWaitEvent(half.stream, (&half == halves ? halves[1] : halves[0]).taken, 0));
            sweep<<<blocks, 256, 0, half.stream>>>(half.grid[from], half.grid[to]);
            CHECK(cudaEventRecord(half.swept, half.stream));
        }
        for (int side = 0; side < 2; ++side) {
            Half &half = halves[side], &other = halves[1 - side];
            CHECK(cudaStreamWaitEvent(half.stream, other.swept, 0));
            float* const edge = side == 0 ? row(half.grid[to], rows + 1) : row(half.grid[to], 0);
            const float* const theirs = side == 0 ? row(other.grid[to], 1) : row(other.grid[to], rows);
            CHECK(cudaMemcpyAsync(edge, theirs, width * sizeof(float), cudaMemcpyDeviceToDevice, half.stream));
            CHECK(cudaEventRecord(half.taken, half.stream));
        }
    }
    CHECK(cudaDeviceSynchronize());
}

}  // namespace

int main(int argc, char** argv)
{
    const int count = argc > 1 ? std::atoi(argv[1]) : 5000;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
    Half halves[2];
    const size_t bytes = static_cast<size_t>(rows + 2) * width * sizeof(float);
    for (Half& half : halves) {
        CHECK(cudaStreamCreate(&half.stream));
        CHECK(cudaEventCreateWithFlags(&half.swept, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&half.taken, cudaEventDisableTiming));
        for (float*& grid : half.grid) {
            CHECK(cudaMalloc(&grid, bytes));
            CHECK(cudaMemsetAsync(grid, 0, bytes, half.stream));
        }
    }
    CHECK(cudaDeviceSynchronize());
    sweeps(halves, 20);
    double least = 1e9;
    for (int round = 0; round < rounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        sweeps(halves, count);
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        least = std::min(least, took.count() / count);
    }
    std::printf("%.4f\n", least);
    for (Half& half : halves) {
        for (float* grid : half.grid) CHECK(cudaFree(grid));
        CHECK(cudaEventDestroy(half.taken));
        CHECK(cudaEventDestroy(half.swept));
        CHECK(cudaStreamDestroy(half.stream));
    }
    return 0;
}
