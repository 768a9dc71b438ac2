// Front and back buffer lie in one allocation; the frame is downloaded from the one that is not drawn into.
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

__global__ void draw(unsigned* out, unsigned frame, int pixels)
{
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < pixels) out[i] = frame + i;
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    const int pixels = n;
    const size_t bytes = pixels * sizeof(unsigned);
    cudaStream_t render, copy;
    CHECK(cudaStreamCreate(&render));
    CHECK(cudaStreamCreate(&copy));
    unsigned *frames, *shown;
    CHECK(cudaMalloc(&frames, 2 * bytes));
    CHECK(cudaMallocHost(&shown, bytes));
    CHECK(cudaMemset(frames, 0, 2 * bytes));
    CHECK(cudaDeviceSynchronize());

    unsigned* front = frames;
    unsigned* back = frames + pixels;
    const dim3 block(256);
    const dim3 grid((pixels + block.x - 1) / block.x);
    draw<<<grid, block, 0, render>>>(back, 7, pixels);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(shown, front, bytes, cudaMemcpyDeviceToHost, copy));
    CHECK(cudaStreamSynchronize(copy));
    std::printf("%u %d\n", shown[0], front == frames);

    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(frames));
    CHECK(cudaFreeHost(shown));
    CHECK(cudaStreamDestroy(render));
    CHECK(cudaStreamDestroy(copy));
}
