// A garbage list that holds one pointer twice.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                              \
    do {                                                           \
        cudaError_t e = (x);                                       \
        if (e != cudaSuccess) {                                    \
            fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); \
            exit(1);                                               \
        }                                                          \
    } while (0)

static std::vector<void*> garbage;

template <typename T>
static T* allocate(size_t n)
{
    T* p = nullptr;
    CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T)));
    garbage.push_back(p);
    return p;
}

static void collect()
{
    for (void* p : garbage) CUDA_CHECK(cudaFree(p));
    garbage.clear();
}

__global__ void merge(const int* a, const int* b, int* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] < b[i] ? a[i] : b[i];
}

int main()
{
    const int n = 1 << 12;
    int* a = allocate<int>(n);
    int* b = allocate<int>(n);
    int* c = allocate<int>(n);
    CUDA_CHECK(cudaMemset(a, 1, n * sizeof(int)));
    CUDA_CHECK(cudaMemset(b, 2, n * sizeof(int)));
    merge<<<n / 256, 256>>>(a, b, c, n);
    CUDA_CHECK(cudaDeviceSynchronize());
    collect();
    return 0;
}
