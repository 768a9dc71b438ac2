// `if constexpr` decides whether the two streams of an operation are ordered: by the size of its element, by mistake.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

template <typename T>
__global__ void shift(T* p, T by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += by;
}

template <typename T>
__global__ void stretch(T* p, T by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] *= by;
}

template <typename T, bool Overlap>
void affine(T* p, int n, cudaStream_t first, cudaStream_t second, cudaEvent_t event)
{
    shift<T><<<n / 256, 256, 0, first>>>(p, T(1), n);
    if constexpr (sizeof(T) > 4 || !Overlap) {
        CHECK(cudaEventRecord(event, first));
        CHECK(cudaStreamWaitEvent(second, event, 0));
    }
    stretch<T><<<n / 256, 256, 0, second>>>(p, T(2), n);  // expect: SS109
}

int main()
{
    const int n = 1 << 14;
    float* small;
    double* large;
    cudaStream_t a, b;
    cudaEvent_t event;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMalloc(&small, n * sizeof(float)));
    CHECK(cudaMalloc(&large, n * sizeof(double)));
    CHECK(cudaMemset(small, 0, n * sizeof(float)));
    CHECK(cudaMemset(large, 0, n * sizeof(double)));
    CHECK(cudaDeviceSynchronize());
    affine<double, true>(large, n, a, b, event);
    affine<float, true>(small, n, a, b, event);
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFree(large));
    CHECK(cudaFree(small));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaStreamDestroy(a));
    return 0;
}
