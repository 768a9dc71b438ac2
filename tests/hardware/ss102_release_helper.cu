// release() frees in the stream that the frame remembers as its own, whoever has used it since.
// On hardware the next frame gets the block at once, and the delayed sharpen() works on that one.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) check((call), __LINE__)
static void check(cudaError_t status, int line)
{
    if (status == cudaSuccess) return;
    std::printf("error: %s, line %d\n", cudaGetErrorName(status), line);
    std::exit(1);
}

struct Frame {
    int* pixels;
    int count;
    cudaStream_t owner;
};

static Frame acquire(int count, cudaStream_t owner)
{
    Frame frame{nullptr, count, owner};
    CHECK(cudaMallocAsync(&frame.pixels, count * sizeof(int), owner));
    return frame;
}

static void release(Frame& frame)
{
    CHECK(cudaFreeAsync(frame.pixels, frame.owner));  // expect: SS102
    frame.pixels = nullptr;
}

__global__ void hold(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void decode(int* pixels, int first, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) pixels[i] = first + i % 256;
}

__global__ void sharpen(const int* pixels, int* image, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) image[i] = 4 * pixels[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int count = 1 << 20;
    cudaStream_t decoder, filter;
    CHECK(cudaStreamCreateWithFlags(&decoder, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&filter, cudaStreamNonBlocking));
    cudaEvent_t decoded;
    CHECK(cudaEventCreateWithFlags(&decoded, cudaEventDisableTiming));
    int* image = nullptr;
    CHECK(cudaMalloc(&image, count * sizeof(int)));

    Frame frame = acquire(count, decoder);
    decode<<<count / 256, 256, 0, decoder>>>(frame.pixels, 10, count);
    CHECK(cudaEventRecord(decoded, decoder));
    CHECK(cudaStreamWaitEvent(filter, decoded, 0));
    hold<<<1, 1, 0, filter>>>(100'000'000);
    sharpen<<<count / 256, 256, 0, filter>>>(frame.pixels, image, count);
    release(frame);

    Frame next = acquire(count, decoder);
    decode<<<count / 256, 256, 0, decoder>>>(next.pixels, 5000, count);
    release(next);

    CHECK(cudaDeviceSynchronize());
    std::vector<int> host(count);
    CHECK(cudaMemcpy(host.data(), image, count * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(image));
    CHECK(cudaEventDestroy(decoded));
    CHECK(cudaStreamDestroy(filter));
    CHECK(cudaStreamDestroy(decoder));
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += host[i] != 4 * (10 + i % 256);
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
