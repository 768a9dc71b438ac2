// The second run comes behind a wait.
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

struct Impl {
    int* p;
    Stream s;
    Impl() { CHECK(cudaMalloc(&p, 4096)); }
    ~Impl() { cudaFree(p); }
};
class Engine
{
    std::unique_ptr<Impl> impl_;

public:
    Engine();
    ~Engine();
    void run(cudaStream_t s) { fill<<<4, 256, 0, s>>>(impl_->p, 1024); }
};
Engine::Engine() : impl_(new Impl) {}
Engine::~Engine() = default;
int main()
{
    Stream s, t;
    Engine e;
    e.run(s);
    CHECK(cudaStreamSynchronize(s));
    e.run(t);
    CHECK(cudaDeviceSynchronize());
}
