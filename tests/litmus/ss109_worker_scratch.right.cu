// Two worker threads have a stream and a scratch buffer each.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int count = 1 << 16;

__global__ void square(const float* in, float* scratch, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) scratch[i] = in[i] * in[i];
}

__global__ void accumulate(const float* scratch, float* total, int n)
{
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += scratch[i];
    atomicAdd(total, sum);
}

struct Workspace {
    float* scratch = nullptr;
    Workspace() { CHECK(cudaMalloc(&scratch, count * sizeof(float))); }
    ~Workspace() { cudaFree(scratch); }
    Workspace(const Workspace&) = delete;
};

static void work(const float* in, float* scratch, float* total)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    square<<<count / 256, 256, 0, stream>>>(in, scratch, count);
    accumulate<<<1, 256, 0, stream>>>(scratch, total, count);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
}

int main()
{
    float *in, *totals;
    CHECK(cudaMalloc(&in, count * sizeof(float)));
    CHECK(cudaMalloc(&totals, 2 * sizeof(float)));
    CHECK(cudaMemset(in, 0, count * sizeof(float)));
    CHECK(cudaMemset(totals, 0, 2 * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    {
        Workspace first, second;
        std::thread left(work, in, first.scratch, totals);
        std::thread right(work, in, second.scratch, totals + 1);
        left.join();
        right.join();
    }
    CHECK(cudaFree(totals));
    CHECK(cudaFree(in));
    return 0;
}
