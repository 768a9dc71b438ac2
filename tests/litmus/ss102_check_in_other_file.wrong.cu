// The status check lives in another file. A function that only gets a status orders nothing on the device.
#include <cuda_runtime.h>
#include <cstdio>

void check_status(cudaError_t status, const char* call, const char* file, int line);  // check.cpp
#define CUDA_CALL(call) check_status((call), #call, __FILE__, __LINE__)

__global__ void residual(const double* x, double* r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) r[i] = 1.0 - x[i];
}

int main()
{
    const int n = 1 << 16;
    cudaStream_t copy, compute;
    cudaEvent_t copied, computed;
    CUDA_CALL(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
    CUDA_CALL(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CUDA_CALL(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
    CUDA_CALL(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));

    double *x, *r;
    CUDA_CALL(cudaMallocAsync(&x, n * sizeof(double), copy));
    CUDA_CALL(cudaMemsetAsync(x, 0, n * sizeof(double), copy));
    CUDA_CALL(cudaEventRecord(copied, copy));
    CUDA_CALL(cudaMallocAsync(&r, n * sizeof(double), compute));
    CUDA_CALL(cudaStreamWaitEvent(compute, copied, 0));
    residual<<<n / 256, 256, 0, compute>>>(x, r, n);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaEventRecord(computed, compute));
    CUDA_CALL(cudaFreeAsync(x, copy));  // expect: SS102

    CUDA_CALL(cudaFreeAsync(r, compute));
    CUDA_CALL(cudaStreamSynchronize(compute));
    CUDA_CALL(cudaStreamSynchronize(copy));
    CUDA_CALL(cudaEventDestroy(copied));
    CUDA_CALL(cudaEventDestroy(computed));
    CUDA_CALL(cudaStreamDestroy(copy));
    CUDA_CALL(cudaStreamDestroy(compute));
    return 0;
}
