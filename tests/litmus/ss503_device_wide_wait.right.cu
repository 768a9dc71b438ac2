// The host waits for the one stream whose results it reads.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

__global__ void quick(int *found, const int *table, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && table[i] == 42) atomicAdd(found, 1);
}

__global__ void slow(double *field, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < 10000; ++k) field[i] = field[i] * 0.999 + 0.001;
}

int main()
{
    const int n = 1 << 16;
    int *table, *found, *answer;
    double *field;
    CHECK(cudaMalloc(&table, n * sizeof(int)));
    CHECK(cudaMalloc(&found, sizeof(int)));
    CHECK(cudaMalloc(&field, n * sizeof(double)));
    CHECK(cudaMallocHost(&answer, sizeof(int)));
    cudaStream_t search, solve;
    CHECK(cudaStreamCreateWithFlags(&search, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&solve, cudaStreamNonBlocking));

    CHECK(cudaMemsetAsync(field, 0, n * sizeof(double), solve));
    slow<<<n / 256, 256, 0, solve>>>(field, n);

    CHECK(cudaMemsetAsync(table, 0, n * sizeof(int), search));
    CHECK(cudaMemsetAsync(found, 0, sizeof(int), search));
    quick<<<n / 256, 256, 0, search>>>(found, table, n);
    CHECK(cudaMemcpyAsync(answer, found, sizeof(int), cudaMemcpyDeviceToHost, search));
    CHECK(cudaStreamSynchronize(search));
    std::printf("%d\n", *answer);
    slow<<<n / 256, 256, 0, solve>>>(field, n / 2);

    CHECK(cudaStreamSynchronize(solve));
    CHECK(cudaStreamDestroy(solve));
    CHECK(cudaStreamDestroy(search));
    CHECK(cudaFreeHost(answer));
    CHECK(cudaFree(field));
    CHECK(cudaFree(found));
    CHECK(cudaFree(table));
    return 0;
}
