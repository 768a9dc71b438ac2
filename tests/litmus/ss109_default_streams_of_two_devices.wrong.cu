// Two devices, each with its default stream: that of one device is not ordered after that of the other.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void produce(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = i * i;
}

__global__ void consume(const int* p, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = p[i] + 1;
}

int main()
{
    const int n = 1 << 16;
    int *shared, *out;
    cudaEvent_t produced;
    CHECK(cudaSetDevice(1));
    CHECK(cudaDeviceEnablePeerAccess(0, 0));
    CHECK(cudaMalloc(&out, n * sizeof(int)));
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&shared, n * sizeof(int)));
    CHECK(cudaEventCreateWithFlags(&produced, cudaEventDisableTiming));
    produce<<<n / 256, 256>>>(shared, n);
    CHECK(cudaEventRecord(produced));
    CHECK(cudaSetDevice(1));
    consume<<<n / 256, 256>>>(shared, out, n);  // expect: SS109
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(out));
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(produced));
    CHECK(cudaFree(shared));
    return 0;
}
