// Every job makes a pool of its own, and gives it back before its last block.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define TRY(call)                                                        \
    do {                                                                 \
        cudaError_t status = (call);                                     \
        if (status != cudaSuccess) {                                     \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(status));    \
            std::exit(1);                                                \
        }                                                                \
    } while (0)

__global__ void accumulate(float* sums, const float* terms, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sums[i] += terms[i];
}

class JobPool {
public:
    explicit JobPool(int device)
    {
        cudaMemPoolProps props = {};
        props.allocType = cudaMemAllocationTypePinned;
        props.location.type = cudaMemLocationTypeDevice;
        props.location.id = device;
        TRY(cudaMemPoolCreate(&pool_, &props));
    }
    float* take(size_t count, cudaStream_t stream)
    {
        void* block = nullptr;
        TRY(cudaMallocFromPoolAsync(&block, count * sizeof(float), pool_, stream));  // expect: SS205
        return static_cast<float*>(block);
    }
    void close() { TRY(cudaMemPoolDestroy(pool_)); }

private:
    cudaMemPool_t pool_;
};

int main()
{
    const int n = 1 << 12;
    cudaStream_t stream;
    TRY(cudaStreamCreate(&stream));
    JobPool pool(0);
    float* terms = pool.take(n, stream);
    pool.close();
    float* sums = pool.take(n, stream);
    accumulate<<<n / 256, 256, 0, stream>>>(sums, terms, n);
    TRY(cudaGetLastError());
    TRY(cudaFreeAsync(terms, stream));
    TRY(cudaFreeAsync(sums, stream));
    TRY(cudaStreamSynchronize(stream));
    TRY(cudaStreamDestroy(stream));
    return 0;
}
