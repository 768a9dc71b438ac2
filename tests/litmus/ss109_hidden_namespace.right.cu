// The second launcher comes behind a wait.
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

namespace [[deprecated("x")]] old
{
void go(int* p, cudaStream_t s)
{
    fill<<<4, 256, 0, s>>>(p, 1024);
}
}  // namespace old
namespace __attribute__((visibility("hidden"))) detail
{
    void go(int* p, cudaStream_t s)
    {
        fill<<<4, 256, 0, s>>>(p, 1024);
    }
}  // namespace detail
int main()
{
    Stream s, t;
    int* d;
    CHECK(cudaMalloc(&d, 4096));
    old::go(d, s);
    CHECK(cudaStreamSynchronize(s));
    detail::go(d, t);
    CHECK(cudaDeviceSynchronize());
    cudaFree(d);
}
