// The per-thread default stream is a stream like another: a non-blocking stream does not wait for it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

static const char* last_step = "start";

static bool failed(cudaError_t status, const char* step)
{
    last_step = step;
    return status != cudaSuccess;
}

__global__ void transpose(const float* in, float* out, int width)
{
    int x = blockIdx.x * 16 + threadIdx.x;
    int y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < width) out[x * width + y] = in[y * width + x];
}

static int run()
{
    const int width = 1024;
    const size_t bytes = width * width * sizeof(float);
    cudaStream_t io;
    cudaEvent_t event;
    if (failed(cudaStreamCreateWithFlags(&io, cudaStreamNonBlocking), "stream")) return 1;
    if (failed(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event")) return 1;

    float* in = nullptr;
    float* out = nullptr;
    if (failed(cudaMallocAsync(&in, bytes, io), "in")) return 1;
    if (failed(cudaMemsetAsync(in, 0, bytes, io), "clear")) return 1;
    if (failed(cudaMallocAsync(&out, bytes, cudaStreamPerThread), "out")) return 1;
    if (failed(cudaEventRecord(event, io), "record")) return 1;
    if (failed(cudaStreamWaitEvent(cudaStreamPerThread, event, 0), "wait")) return 1;

    dim3 block(16, 16);
    dim3 grid(width / 16, width / 16);
    transpose<<<grid, block, 0, cudaStreamPerThread>>>(in, out, width);
    if (failed(cudaGetLastError(), "transpose")) return 1;

    if (failed(cudaEventRecord(event, cudaStreamPerThread), "record")) return 1;
    if (failed(cudaStreamWaitEvent(io, event, 0), "wait")) return 1;
    if (failed(cudaFreeAsync(in, io), "free in")) return 1;
    if (failed(cudaFreeAsync(out, cudaStreamPerThread), "free out")) return 1;
    if (failed(cudaStreamSynchronize(cudaStreamPerThread), "sync")) return 1;
    if (failed(cudaStreamSynchronize(io), "sync")) return 1;
    cudaEventDestroy(event);
    cudaStreamDestroy(io);
    return 0;
}

int main()
{
    int status = run();
    if (status) std::fprintf(stderr, "failed at %s\n", last_step);
    return status;
}
