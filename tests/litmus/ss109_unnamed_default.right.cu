// The second launcher comes behind a wait.
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

__global__ void fill(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = i;
}

struct Stream {
    cudaStream_t s;
    Stream() { CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamDestroy(s); }
    Stream(const Stream&) = delete;
    operator cudaStream_t() const { return s; }
};

template <typename T, typename std::enable_if<std::is_integral<T>::value>::type* = nullptr>
void launch(T* p, int n, cudaStream_t s)
{
    fill<<<4, 256, 0, s>>>(p, n);
}
template <typename T>
struct type_identity_ {
    using type = T;
};
template <typename T>
void launch2(T* p, int n, cudaStream_t s, typename type_identity_<T>::type* = nullptr)
{
    fill<<<4, 256, 0, s>>>(p, n);
}
int main()
{
    Stream s, t;
    int* d;
    CHECK(cudaMalloc(&d, 4096));
    launch(d, 1024, s);
    CHECK(cudaStreamSynchronize(s));
    launch2(d, 1024, t);
    CHECK(cudaDeviceSynchronize());
    cudaFree(d);
}
