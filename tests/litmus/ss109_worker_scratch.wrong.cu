// Two worker threads have a stream each, and by mistake share one scratch buffer.
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

static void work(cudaStream_t stream, const float* in, float* scratch, float* total)
{
    square<<<count / 256, 256, 0, stream>>>(in, scratch, count);  // expect: SS109
    accumulate<<<1, 256, 0, stream>>>(scratch, total, count);  // expect: SS109
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
        cudaStream_t streams[2];
        for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        std::thread left(work, streams[0], in, first.scratch, totals);
        std::thread right(work, streams[1], in, first.scratch, totals + 1);
        left.join();
        right.join();
        for (cudaStream_t stream : streams) {
            CHECK(cudaStreamSynchronize(stream));
            CHECK(cudaStreamDestroy(stream));
        }
    }
    CHECK(cudaFree(totals));
    CHECK(cudaFree(in));
    return 0;
}
