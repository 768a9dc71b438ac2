// The owner gives its pointer up to a C function that frees it, in the order of the stream that the owner knows.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

struct AsyncDelete {
    cudaStream_t stream;
    void operator()(void* p) const { cudaFreeAsync(p, stream); }
};
template <typename T>
using Owned = std::unique_ptr<T, AsyncDelete>;

template <typename T>
Owned<T> make_owned(int n, cudaStream_t stream)
{
    void* p = nullptr;
    CHECK(cudaMallocAsync(&p, n * sizeof(T), stream));
    return Owned<T>(static_cast<T*>(p), AsyncDelete{stream});
}

static void recycle(void* p, cudaStream_t stream)
{
    if (p != nullptr) CHECK(cudaFreeAsync(p, stream));
}

__global__ void hash(unsigned* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 0x9e3779b9u * (i + 1);
}

int main()
{
    const int n = 1 << 14;
    cudaStream_t memory, compute;
    CHECK(cudaStreamCreateWithFlags(&memory, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    Owned<unsigned> table = make_owned<unsigned>(n, memory);
    CHECK(cudaStreamSynchronize(memory));
    hash<<<n / 256, 256, 0, compute>>>(table.get(), n);
    recycle(table.release(), compute);
    CHECK(cudaStreamSynchronize(compute));
    CHECK(cudaStreamSynchronize(memory));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(memory));
    return 0;
}
