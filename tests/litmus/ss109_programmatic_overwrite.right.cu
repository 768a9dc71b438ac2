// A kernel that may begin early reads its own table first, and waits before it overwrites what the kernel before it reads.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WAIT_FOR_PREVIOUS() asm volatile("griddepcontrol.wait;" ::: "memory")
#define LET_NEXT_BEGIN() asm volatile("griddepcontrol.launch_dependents;")
#else
#define WAIT_FOR_PREVIOUS()
#define LET_NEXT_BEGIN()
#endif

template <typename T>
__device__ __forceinline__ T weighted(T value, T weight)
{
    return value * weight;
}

template <typename T>
__global__ void accumulate(T *sums, const T *samples, int n)
{
    LET_NEXT_BEGIN();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sums[i] += samples[i];
}

template <typename T>
__global__ void refill(T *samples, const T *table, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T value = weighted(table[i], T(2));
    WAIT_FOR_PREVIOUS();
    samples[i] = value;
}

template <typename... Parameters, typename... Arguments>
void launch(cudaStream_t stream, int blocks, bool programmatic, void (*kernel)(Parameters...), Arguments... arguments)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = programmatic ? 1 : 0;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(128);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

int main()
{
    const int n = 4096;
    float *samples, *sums, *table;
    CHECK(cudaMalloc(&samples, n * sizeof(float)));
    CHECK(cudaMalloc(&sums, n * sizeof(float)));
    CHECK(cudaMalloc(&table, n * sizeof(float)));
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(samples, 0, n * sizeof(float), stream));
    CHECK(cudaMemsetAsync(sums, 0, n * sizeof(float), stream));
    CHECK(cudaMemsetAsync(table, 0, n * sizeof(float), stream));

    launch(stream, n / 128, false, accumulate<float>, sums, static_cast<const float *>(samples), n);
    launch(stream, n / 128, true, refill<float>, samples, static_cast<const float *>(table), n);

    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(samples));
    CHECK(cudaFree(sums));
    CHECK(cudaFree(table));
    return 0;
}
