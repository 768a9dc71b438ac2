// A host function gets the address of a local variable that is gone before the function runs.
#include <cuda_runtime.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#define CHECK(x)                                            \
    do {                                                    \
        cudaError_t e = (x);                                \
        if (e != cudaSuccess) {                             \
            std::puts(cudaGetErrorString(e));               \
            std::exit(1);                                   \
        }                                                   \
    } while (0)

struct Progress {
    int step;
    int total;
};

static std::atomic<int> finished{0};

static void CUDART_CB on_step(void* user)
{
    Progress* progress = static_cast<Progress*>(user);
    finished = progress->step;
}

__global__ void step(float* state, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) state[i] += 1.0f;
}

static void enqueue_step(float* state, int n, int number, cudaStream_t stream)
{
    static Progress progress;
    progress.step = number;
    progress.total = 1;
    step<<<(n + 255) / 256, 256, 0, stream>>>(state, n);
    CHECK(cudaLaunchHostFunc(stream, on_step, &progress));
}

int main()
{
    const int n = 1 << 12;
    float* state;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&state, n * sizeof(float)));
    CHECK(cudaMemsetAsync(state, 0, n * sizeof(float), stream));
    enqueue_step(state, n, 1, stream);
    CHECK(cudaStreamSynchronize(stream));
    std::printf("%d steps\n", finished.load());
    CHECK(cudaFree(state));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
