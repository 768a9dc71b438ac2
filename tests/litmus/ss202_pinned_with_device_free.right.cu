// Host and device pointers of one struct go through the same loop of cudaFree calls.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(x)                                                \
    do {                                                             \
        cudaError_t e = (x);                                         \
        if (e != cudaSuccess) fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); \
    } while (0)

struct Mirror {
    float* device;
    float* host;
    size_t count;
};

__global__ void ramp(float* v, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) v[i] = i;
}

static Mirror make_mirror(size_t count)
{
    Mirror m;
    m.count = count;
    CUDA_CHECK(cudaMalloc(&m.device, count * sizeof(float)));
    CUDA_CHECK(cudaMallocHost(&m.host, count * sizeof(float)));
    return m;
}

static void drop_mirror(Mirror& m)
{
    CUDA_CHECK(cudaFree(m.device));
    CUDA_CHECK(cudaFreeHost(m.host));
    m.device = nullptr;
    m.host = nullptr;
}

int main()
{
    Mirror m = make_mirror(1 << 10);
    ramp<<<4, 256>>>(m.device, m.count);
    CUDA_CHECK(cudaMemcpy(m.host, m.device, m.count * sizeof(float), cudaMemcpyDeviceToHost));
    printf("%f\n", m.host[5]);
    drop_mirror(m);
    return 0;
}
