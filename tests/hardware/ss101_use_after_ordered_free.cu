// The reader waits for an event that stands behind the free of what it reads.
// On hardware the block has its next owner's words by the time of that event.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                           \
    if (const cudaError_t status = (call); status != cudaSuccess) {                           \
        std::printf("error: %s in %s\n", cudaGetErrorName(status), #call);                    \
        std::exit(1);                                                                         \
    }

__global__ void write_points(int2* points, int x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) points[i] = make_int2(x, i);
}

__global__ void project(const int2* points, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = points[i].x + points[i].y;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    const int n = 1 << 20;
    cudaStream_t writer, reader;
    CHECK(cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
    cudaEvent_t written;
    CHECK(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
    int* out = nullptr;
    CHECK(cudaMalloc(&out, n * sizeof(int)));

    int2 *points = nullptr, *more = nullptr;
    CHECK(cudaMallocAsync(&points, n * sizeof(int2), writer));
    write_points<<<n / 256, 256, 0, writer>>>(points, 40, n);
    CHECK(cudaFreeAsync(points, writer));
    CHECK(cudaMallocAsync(&more, n * sizeof(int2), writer));
    write_points<<<n / 256, 256, 0, writer>>>(more, -90, n);
    CHECK(cudaEventRecord(written, writer));

    CHECK(cudaStreamWaitEvent(reader, written, 0));
    project<<<n / 256, 256, 0, reader>>>(points, out, n);  // expect: SS101
    CHECK(cudaFreeAsync(more, writer));

    CHECK(cudaDeviceSynchronize());
    std::vector<int> host(n);
    CHECK(cudaMemcpy(host.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(written));
    CHECK(cudaStreamDestroy(reader));
    CHECK(cudaStreamDestroy(writer));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 40 + i;
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
