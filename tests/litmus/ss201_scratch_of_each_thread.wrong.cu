// Each thread has scratch memory of its own, and one round frees it early.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>

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

struct Scratch {
    int* p = nullptr;
    cudaStream_t s;
    Scratch()
    {
        CHECK(cudaStreamCreate(&s));
        CHECK(cudaMallocAsync((void**)&p, 4096, s));
    }
    ~Scratch()
    {
        cudaFreeAsync(p, s);  // expect: SS201
        cudaStreamSynchronize(s);
        cudaStreamDestroy(s);
    }
};
Scratch& scratch()
{
    thread_local Scratch t;
    return t;
}
void work(int r)
{
    Scratch& t = scratch();
    fill<<<4, 256, 0, t.s>>>(t.p, 1024);  // expect: SS101
    if (r == 1) cudaFreeAsync(t.p, t.s);
}
int main()
{
    std::thread a([] {
        for (int i = 0; i < 3; ++i) work(i);
    });
    std::thread b([] {
        for (int i = 0; i < 3; ++i) work(i);
    });
    a.join();
    b.join();
    work(1);
    work(2);
    CHECK(cudaDeviceSynchronize());
}
