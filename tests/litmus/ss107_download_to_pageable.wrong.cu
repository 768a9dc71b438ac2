// The download to ordinary host memory happens to be complete when its call returns. So the free on another stream is behind
// the kernel, and behind the copy; but the copy only "might be" synchronous.
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
    cudaFreeAsync(d_x, memory);  // expect: SS107
    cudaDeviceSynchronize();
    free(result);
    cudaStreamDestroy(memory);
    cudaStreamDestroy(compute);
    return 0;
}
