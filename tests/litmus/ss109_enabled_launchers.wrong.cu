// Launchers chosen by `enable_if` parameters without a name; the integral one is launched on a stream that nobody waits for.
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
__global__ void convert(const T* in, float* out, float unit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = static_cast<float>(in[i]) * unit;
}

template <typename T>
__global__ void total(const T* in, T* out, int n)
{
    T sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
    atomicAdd(out, sum);
}

template <typename T, typename std::enable_if<std::is_integral<T>::value>::type* = nullptr>
void normalise(const T* in, float* out, int n, cudaStream_t stream)
{
    convert<T><<<n / 256, 256, 0, stream>>>(in, out, 1.0f / 128, n);
}

template <typename T, typename std::enable_if<std::is_floating_point<T>::value>::type* = nullptr>
void normalise(const T* in, float* out, int n, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(out, in, n * sizeof(float), cudaMemcpyDeviceToDevice, stream));
}

template <typename T = float, std::enable_if_t<(sizeof(T) > 1), int> = 0>
void reduce(const T* in, T* out, int n, cudaStream_t stream)
{
    total<T><<<1, 256, 0, stream>>>(in, out, n);  // expect: SS109
}

int main()
{
    const int n = 1 << 15;
    signed char* pixels;
    float *values, *sum;
    cudaStream_t a, b;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&pixels, n));
    CHECK(cudaMalloc(&values, n * sizeof(float)));
    CHECK(cudaMalloc(&sum, sizeof(float)));
    CHECK(cudaMemset(pixels, 5, n));
    CHECK(cudaMemset(sum, 0, sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    normalise(pixels, values, n, a);
    reduce(values, sum, n, b);
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFree(sum));
    CHECK(cudaFree(values));
    CHECK(cudaFree(pixels));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaStreamDestroy(a));
    return 0;
}
