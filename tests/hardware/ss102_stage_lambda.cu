// Each frame is decoded in one stream and filtered in the other; the lambda's last line frees it in the decoder's.
// On hardware the filter is delayed by a slow first step, and then sees the last frame only.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                           \
    if (const cudaError_t status = (call); status != cudaSuccess) {                           \
        std::printf("error: %s in %s\n", cudaGetErrorName(status), #call);                    \
        std::exit(1);                                                                         \
    }

__global__ void slow(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void decode(short2* frame, int number, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) frame[i] = make_short2(number, i % 100);
}

__global__ void filter(const short2* frame, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 1000 * frame[i].x + frame[i].y;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20, frames = 3;
    std::array<cudaStream_t, 2> streams{};
    for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaEvent_t decoded;
    CHECK(cudaEventCreateWithFlags(&decoded, cudaEventDisableTiming));
    int* movie = nullptr;
    CHECK(cudaMalloc(&movie, frames * n * sizeof(int)));

    auto process = [&](int number) {
        short2* frame = nullptr;
        CHECK(cudaMallocAsync(&frame, n * sizeof(short2), streams[0]));
        decode<<<n / 256, 256, 0, streams[0]>>>(frame, number, n);
        CHECK(cudaEventRecord(decoded, streams[0]));
        CHECK(cudaStreamWaitEvent(streams[1], decoded, 0));
        filter<<<n / 256, 256, 0, streams[1]>>>(frame, movie + number * n, n);
        CHECK(cudaFreeAsync(frame, streams[0]));  // expect: SS102
    };
    slow<<<1, 1, 0, streams[1]>>>(100'000'000);
    for (int number = 0; number < frames; ++number) process(number);

    CHECK(cudaDeviceSynchronize());
    std::vector<int> host(frames * n);
    CHECK(cudaMemcpy(host.data(), movie, host.size() * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(movie));
    CHECK(cudaEventDestroy(decoded));
    for (auto stream : streams) CHECK(cudaStreamDestroy(stream));
    int wrong = 0;
    for (int i = 0; i < frames * n; ++i) wrong += host[i] != 1000 * (i / n) + i % n % 100;
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
