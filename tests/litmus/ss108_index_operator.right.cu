// The host adds up behind a wait for the stream.
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

class Host
{
    int* p_;
    int n_;

public:
    Host(int n) : n_(n) { CHECK(cudaMallocHost(&p_, n * 4)); }
    ~Host() { cudaFreeHost(p_); }
    int& operator[](int i) { return p_[i]; }
    const int& operator[](int i) const { return p_[i]; }
    int* data() { return p_; }
    int size() const { return n_; }
};
int main()
{
    Stream s;
    Host h(1024);
    int* d;
    CHECK(cudaMalloc(&d, 4096));
    fill<<<4, 256, 0, s>>>(d, 1024);
    CHECK(cudaMemcpyAsync(h.data(), d, 4096, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    long sum = 0;
    for (int i = 0; i < h.size(); ++i) sum += h[i];
    std::printf("%ld\n", sum);
    CHECK(cudaStreamSynchronize(s));
    cudaFree(d);
}
