// Two fills of one volume on two streams; the extent is a variable.
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
    cudaExtent e = make_cudaExtent(64 * sizeof(int), 8, 4);
    cudaPitchedPtr p;
    CHECK(cudaMalloc3D(&p, e));
    CHECK(cudaMemset3DAsync(p, 0, e, s));

    CHECK(cudaMemset3DAsync(p, 1, e, t));  // expect: SS109
    CHECK(cudaDeviceSynchronize());
    cudaFree(p.ptr);
}
