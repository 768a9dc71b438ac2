// Polling with cudaEventQuery until success is as good as a wait, if it is the right event.
#include <cuda_runtime.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CUDA_CHECK(x)                                    \
    do {                                                 \
        if (cudaError_t e_ = (x); e_ != cudaSuccess) {   \
            fprintf(stderr, "%s\n", cudaGetErrorString(e_)); \
            exit(1);                                     \
        }                                                \
    } while (0)

__global__ void encode(const short* in, short* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] ^ 0x55;
}

int main()
{
    const int n = 1 << 16;
    cudaStream_t load, run;
    CUDA_CHECK(cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&run, cudaStreamNonBlocking));
    cudaEvent_t loaded, encoded;
    CUDA_CHECK(cudaEventCreateWithFlags(&loaded, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&encoded, cudaEventDisableTiming));

    short* in;
    short* out;
    CUDA_CHECK(cudaMallocAsync(&in, n * sizeof(short), load));
    CUDA_CHECK(cudaMemsetAsync(in, 0, n * sizeof(short), load));
    CUDA_CHECK(cudaEventRecord(loaded, load));
    CUDA_CHECK(cudaMallocAsync(&out, n * sizeof(short), run));
    CUDA_CHECK(cudaStreamWaitEvent(run, loaded, 0));
    encode<<<n / 128, 128, 0, run>>>(in, out, n);
    CUDA_CHECK(cudaEventRecord(encoded, run));

    while (cudaEventQuery(encoded) == cudaErrorNotReady) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    CUDA_CHECK(cudaFreeAsync(in, load));

    CUDA_CHECK(cudaFreeAsync(out, run));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaEventDestroy(loaded));
    CUDA_CHECK(cudaEventDestroy(encoded));
    CUDA_CHECK(cudaStreamDestroy(load));
    CUDA_CHECK(cudaStreamDestroy(run));
    return 0;
}
