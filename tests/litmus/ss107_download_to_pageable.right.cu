// The host waits for the download by a call that promises it.
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}

int main() {
    const int n = 1 << 20;
    cudaStream_t compute, memory;
    cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&memory, cudaStreamNonBlocking);
    float* result = (float*)malloc(n * sizeof(float));
    float* d_x;
    cudaMallocAsync((void**)&d_x, n * sizeof(float), compute);
    cudaMemsetAsync(d_x, 0, n * sizeof(float), compute);
    scale<<<n / 256, 256, 0, compute>>>(d_x, n);
    cudaMemcpyAsync(result, d_x, n * sizeof(float), cudaMemcpyDeviceToHost, compute);
    cudaStreamSynchronize(compute);
    cudaFreeAsync(d_x, memory);
    cudaDeviceSynchronize();
    free(result);
    cudaStreamDestroy(memory);
    cudaStreamDestroy(compute);
    return 0;
}
