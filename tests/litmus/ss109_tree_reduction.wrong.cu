// A recursive reduction: the right half goes to the second stream, and is added without waiting for it.
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

struct Lanes {
    cudaStream_t stream[2];
    cudaEvent_t done;
};

__global__ void prepare(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 1.0f;
}

__global__ void add(float* into, const float* from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) into[i] += from[i];
}

static void reduce(float* p, int n, const Lanes& lanes, int lane)
{
    if (n <= 1024) {
        prepare<<<n / 256, 256, 0, lanes.stream[lane]>>>(p, n);
        return;
    }
    const int half = n / 2;
    reduce(p, half, lanes, lane);
    reduce(p + half, half, lanes, 1 - lane);
    add<<<half / 256, 256, 0, lanes.stream[lane]>>>(p, p + half, half);  // expect: SS109
}

int main()
{
    const int n = 2048;
    float* p;
    Lanes lanes;
    for (cudaStream_t& stream : lanes.stream) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&lanes.done, cudaEventDisableTiming));
    CHECK(cudaMalloc(&p, n * sizeof(float)));
    reduce(p, n, lanes, 0);
    for (cudaStream_t stream : lanes.stream) CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(p));
    CHECK(cudaEventDestroy(lanes.done));
    for (cudaStream_t stream : lanes.stream) CHECK(cudaStreamDestroy(stream));
    return 0;
}
