// The program has functions of its own called fill, copy, wait and free: they do more, or less, than the library's.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

namespace device {

__global__ void fill_kernel(int* p, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = value;
}

struct Array {
    int* p;
    int n;
    cudaStream_t stream;
};

static Array malloc(int n, cudaStream_t stream)
{
    Array made{nullptr, n, stream};
    CHECK(cudaMallocAsync((void**)&made.p, n * sizeof(int), stream));
    return made;
}
static void fill(const Array& array, int value)
{
    fill_kernel<<<array.n / 256, 256, 0, array.stream>>>(array.p, value, array.n);
}
static void copy(const Array& from, const Array& to)
{
    CHECK(cudaMemcpyAsync(to.p, from.p, from.n * sizeof(int), cudaMemcpyDeviceToDevice, to.stream));
}
static void wait(const Array& one, const Array& other)
{
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventRecord(event, other.stream));
    CHECK(cudaStreamWaitEvent(one.stream, event, 0));
    CHECK(cudaEventDestroy(event));
}
static void free(const Array& array) { CHECK(cudaFreeAsync(array.p, array.stream)); }

}  // namespace device

int main()
{
    cudaStream_t a, b;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    device::Array first = device::malloc(4096, a), second = device::malloc(4096, b);
    device::wait(second, first);
    device::fill(first, 7);
    device::fill(second, 8);
    device::wait(second, first);
    device::copy(first, second);
    device::wait(first, second);
    device::free(first);
    device::free(second);
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaStreamDestroy(a));
    return 0;
}
