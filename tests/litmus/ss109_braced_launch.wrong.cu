// Two kernels on two streams write one buffer; the launches have their sizes in braces.
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

int main()
{
    Stream s, t;
    int* d;
    CHECK(cudaMalloc(&d, 4096));
    fill<<<dim3{4}, dim3{256, 1, 1}, 0, s>>>(d, 1024);

    fill<<<{4, 1, 1}, {256, 1, 1}, 0, t>>>(d, 1024);  // expect: SS109
    CHECK(cudaDeviceSynchronize());
    cudaFree(d);
}
