// Views share their arena by aliasing shared_ptrs: the arena goes with the last view, in the order of the arena's stream.
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

struct Arena {
    char* base = nullptr;
    std::size_t used = 0;
    cudaStream_t stream;
    Arena(std::size_t bytes, cudaStream_t owner) : stream(owner) { CHECK(cudaMallocAsync(&base, bytes, stream)); }
    ~Arena() { cudaFreeAsync(base, stream); }
    Arena(const Arena&) = delete;
};

template <typename T>
std::shared_ptr<T> view(const std::shared_ptr<Arena>& arena, int count)
{
    T* place = reinterpret_cast<T*>(arena->base + arena->used);
    arena->used += count * sizeof(T);
    return std::shared_ptr<T>(arena, place);
}

__global__ void init(float* values, int* index, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    values[i] = 0.5f * i;
    index[i] = n - i;
}

int main()
{
    const int n = 1 << 12;
    cudaStream_t memory, compute;
    cudaEvent_t ready;
    CHECK(cudaStreamCreateWithFlags(&memory, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    auto arena = std::make_shared<Arena>(1 << 20, memory);
    std::shared_ptr<float> values = view<float>(arena, n);
    std::shared_ptr<int> index = view<int>(arena, n);
    arena.reset();
    CHECK(cudaEventRecord(ready, memory));
    CHECK(cudaStreamWaitEvent(compute, ready, 0));
    init<<<n / 256, 256, 0, compute>>>(values.get(), index.get(), n);
    values.reset();
    CHECK(cudaStreamSynchronize(compute));
    index.reset();
    CHECK(cudaStreamSynchronize(memory));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(memory));
    return 0;
}
