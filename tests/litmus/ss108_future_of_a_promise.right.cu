// The host waits for the promise before it reads.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <future>

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
    Stream s;
    int *d, *h;
    CHECK(cudaMalloc(&d, 4096));
    CHECK(cudaMallocHost(&h, 4096));
    std::promise<void> done;
    std::thread worker([&] {
        fill<<<4, 256, 0, s>>>(d, 1024);
        CHECK(cudaMemcpyAsync(h, d, 4096, cudaMemcpyDeviceToHost, s));
        CHECK(cudaStreamSynchronize(s));
        done.set_value();
    });
    {
        std::future<void> f = done.get_future();
        f.wait();
    }
    std::printf("%d\n", h[3]);
    worker.join();
    cudaFree(d);
    cudaFreeHost(h);
}
