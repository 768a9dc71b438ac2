// Device 1 reads a buffer of device 0 directly. cudaFree on device 0 does not look at device 1's work.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(x)                                                      \
    do {                                                              \
        cudaError_t rc = (x);                                         \
        if (rc != cudaSuccess) {                                      \
            fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorName(rc));  \
            exit(EXIT_FAILURE);                                       \
        }                                                             \
    } while (0)

__global__ void gather(const float* remote, float* local, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) local[i] = remote[i];
}

int main()
{
    const int n = 1 << 22;
    const size_t bytes = n * sizeof(float);

    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        printf("needs two devices\n");
        return 0;
    }

    float* remote;
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&remote, bytes));
    CHECK(cudaMemset(remote, 0, bytes));
    CHECK(cudaDeviceSynchronize());

    float* local;
    CHECK(cudaSetDevice(1));
    CHECK(cudaDeviceEnablePeerAccess(0, 0));
    CHECK(cudaMalloc(&local, bytes));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    gather<<<n / 256, 256, 0, stream>>>(remote, local, n);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(remote));

    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(local));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
