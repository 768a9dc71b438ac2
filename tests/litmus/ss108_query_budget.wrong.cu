// The loop that asks for the event gives up after some turns, and the host reads what may not be there.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

__global__ void ramp(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = i;
}

static void print_progress(int turn) { std::printf("turn %d\n", turn); }

int main()
{
    const int n = 1 << 20;
    int *device, *host;
    cudaStream_t stream;
    cudaEvent_t copied;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    CHECK(cudaMallocHost(&host, n * sizeof(int)));
    ramp<<<n / 256, 256, 0, stream>>>(device, n);
    CHECK(cudaMemcpyAsync(host, device, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaEventRecord(copied, stream));
    for (int turn = 0; turn < 10 && cudaEventQuery(copied) == cudaErrorNotReady; ++turn) print_progress(turn);
    std::printf("%d\n", host[n - 1]);  // expect: SS108
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    CHECK(cudaEventDestroy(copied));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
