// Whether the free waits for the reader depends on an option that only the user knows: a note.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CUDA_CHECK(x)                                        \
    do {                                                     \
        cudaError_t e = (x);                                 \
        if (e != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(e));  \
            exit(1);                                         \
        }                                                    \
    } while (0)

__global__ void average(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) out[i] = 0.5f * (in[i] + in[i + 1]);
}

int main(int argc, char** argv)
{
    bool careful = argc > 1 && strcmp(argv[1], "--careful") == 0;
    const int n = 1 << 16;
    cudaStream_t a, b;
    CUDA_CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    cudaEvent_t ready, done;
    CUDA_CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

    float *in, *out;
    CUDA_CHECK(cudaMallocAsync(&in, n * sizeof(float), a));
    CUDA_CHECK(cudaMemsetAsync(in, 0, n * sizeof(float), a));
    CUDA_CHECK(cudaEventRecord(ready, a));
    CUDA_CHECK(cudaStreamWaitEvent(b, ready, 0));
    CUDA_CHECK(cudaMallocAsync(&out, n * sizeof(float), b));
    average<<<n / 256, 256, 0, b>>>(in, out, n);
    CUDA_CHECK(cudaEventRecord(done, b));
    if (careful) {
        CUDA_CHECK(cudaStreamWaitEvent(a, done, 0));
    }
    CUDA_CHECK(cudaFreeAsync(in, a));  // expect-note: SS102

    CUDA_CHECK(cudaFreeAsync(out, b));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaEventDestroy(ready));
    CUDA_CHECK(cudaEventDestroy(done));
    CUDA_CHECK(cudaStreamDestroy(a));
    CUDA_CHECK(cudaStreamDestroy(b));
    return 0;
}
