// Lanes in a std::array; each chunk's sum is taken on the next lane, which waits for the wrong lane's event.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

struct Lane {
    cudaStream_t stream;
    cudaEvent_t done;
    Lane()
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    }
    ~Lane()
    {
        cudaStreamSynchronize(stream);
        cudaEventDestroy(done);
        cudaStreamDestroy(stream);
    }
    Lane(const Lane&) = delete;
};

__global__ void square(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = float(i) * i;
}

__global__ void sum(const float* p, float* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, p[i]);
}

int main()
{
    constexpr int lanes = 3, n = 1 << 12;
    float *chunks, *totals;
    CHECK(cudaMalloc(&chunks, lanes * n * sizeof(float)));
    CHECK(cudaMalloc(&totals, lanes * sizeof(float)));
    CHECK(cudaMemset(totals, 0, lanes * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    {
        std::array<Lane, lanes> lane;
        for (int i = 0; i < lanes; ++i) {
            square<<<n / 256, 256, 0, lane[i].stream>>>(chunks + i * n, n);
            CHECK(cudaEventRecord(lane[i].done, lane[i].stream));
        }
        for (int i = 0; i < lanes; ++i) {
            Lane& next = lane[(i + 1) % lanes];
            CHECK(cudaStreamWaitEvent(next.stream, lane[i].done, 0));
            sum<<<n / 256, 256, 0, next.stream>>>(chunks + i * n, totals + i, n);
        }
    }
    CHECK(cudaFree(totals));
    CHECK(cudaFree(chunks));
    return 0;
}
