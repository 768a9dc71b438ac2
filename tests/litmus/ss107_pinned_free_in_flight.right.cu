// A staging buffer of pinned memory is freed right after the upload was queued.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CUDA_CHECK(call)                                                      \
    do {                                                                      \
        cudaError_t e = call;                                                 \
        if (e != cudaSuccess) {                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

__global__ void invert(unsigned char* p, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) p[i] = ~p[i];
}

static void upload(void* device, const void* source, size_t bytes, cudaStream_t stream)
{
    void* staging = nullptr;
    CUDA_CHECK(cudaMallocHost(&staging, bytes));
    std::memcpy(staging, source, bytes);
    CUDA_CHECK(cudaMemcpyAsync(device, staging, bytes, cudaMemcpyHostToDevice, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaFreeHost(staging));
}

int main()
{
    static unsigned char frame[640 * 480];
    const size_t bytes = sizeof(frame);
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreate(&stream));
    unsigned char* device;
    CUDA_CHECK(cudaMalloc(&device, bytes));

    upload(device, frame, bytes, stream);
    invert<<<(unsigned)(bytes / 256), 256, 0, stream>>>(device, bytes);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaStreamSynchronize(stream));

    CUDA_CHECK(cudaFree(device));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
