// join() orders the two host threads. It says nothing of the kernel that the worker left running.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CUDA_CHECK(call)                                                   \
    do {                                                                   \
        cudaError_t s = call;                                              \
        if (s != cudaSuccess) {                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(s)); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

__global__ void smooth(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i + 1 < n) out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3.0f;
}

static void work(const float* in, float* out, int n, cudaStream_t stream)
{
    CUDA_CHECK(cudaSetDevice(0));
    smooth<<<(n + 255) / 256, 256, 0, stream>>>(in, out, n);
    CUDA_CHECK(cudaGetLastError());
}

int main()
{
    const int n = 1 << 20;
    cudaStream_t owner, side;
    CUDA_CHECK(cudaStreamCreateWithFlags(&owner, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));

    float* in;
    float* out;
    CUDA_CHECK(cudaMalloc(&out, n * sizeof(float)));
    CUDA_CHECK(cudaMallocAsync(&in, n * sizeof(float), owner));
    CUDA_CHECK(cudaMemsetAsync(in, 0, n * sizeof(float), owner));
    CUDA_CHECK(cudaStreamSynchronize(owner));

    std::thread worker(work, in, out, n, side);
    worker.join();

    CUDA_CHECK(cudaFreeAsync(in, owner));  // expect: SS102
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFree(out));
    CUDA_CHECK(cudaStreamDestroy(side));
    CUDA_CHECK(cudaStreamDestroy(owner));
    return 0;
}
