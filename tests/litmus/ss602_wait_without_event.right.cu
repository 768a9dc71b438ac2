// cudaStreamWaitEvent with the event forgotten.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

template <class... Args>
void log_error(const char* format, Args... args)
{
    std::fprintf(stderr, format, args...);
}

#define TRY(call)                                                      \
    do {                                                               \
        cudaError_t status = (call);                                   \
        if (status != cudaSuccess) {                                   \
            log_error("%s failed with %d\n", #call, (int)status);      \
            return 1;                                                  \
        }                                                              \
    } while (0)

__global__ void shift(const int* in, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[(i + 1) % n];
}

int main()
{
    const int n = 1 << 10;
    int *in, *out;
    cudaStream_t a, b;
    cudaEvent_t filled;
    TRY(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    TRY(cudaEventCreate(&filled));
    TRY(cudaMalloc(&in, n * sizeof(int)));
    TRY(cudaMalloc(&out, n * sizeof(int)));
    TRY(cudaMemsetAsync(in, 0, n * sizeof(int), a));
    TRY(cudaEventRecord(filled, a));
    TRY(cudaStreamWaitEvent(b, filled));
    shift<<<n / 256, 256, 0, b>>>(in, out, n);
    TRY(cudaStreamSynchronize(b));
    TRY(cudaFree(in));
    TRY(cudaFree(out));
    TRY(cudaEventDestroy(filled));
    TRY(cudaStreamDestroy(a));
    TRY(cudaStreamDestroy(b));
    return 0;
}
