// cudaDeviceReset at the end of main runs before the destructors of main's own objects.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(x)                                                     \
    do {                                                                  \
        cudaError_t e = (x);                                              \
        if (e != cudaSuccess) {                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

class ScopedStream {
public:
    explicit ScopedStream(unsigned flags = cudaStreamDefault) { CUDA_CHECK(cudaStreamCreateWithFlags(&s_, flags)); }
    ~ScopedStream() { cudaStreamDestroy(s_); }
    ScopedStream(const ScopedStream&) = delete;
    ScopedStream& operator=(const ScopedStream&) = delete;
    cudaStream_t get() const { return s_; }

private:
    cudaStream_t s_{};
};

__global__ void tick(unsigned* t) { atomicAdd(t, 1u); }

static void run()
{
    ScopedStream stream(cudaStreamNonBlocking);
    unsigned* t;
    CUDA_CHECK(cudaMalloc(&t, sizeof(unsigned)));
    CUDA_CHECK(cudaMemsetAsync(t, 0, sizeof(unsigned), stream.get()));
    for (int i = 0; i < 10; ++i) tick<<<1, 64, 0, stream.get()>>>(t);
    CUDA_CHECK(cudaStreamSynchronize(stream.get()));
    CUDA_CHECK(cudaFree(t));
}

int main()
{
    run();
    CUDA_CHECK(cudaDeviceReset());
    return 0;
}
