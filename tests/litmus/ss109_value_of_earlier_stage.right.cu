// A producer marks its stages in a word of memory; the consumer waits for the one behind the kernel that it reads from.
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void produce(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = i;
}

__global__ void consume(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

int main() {
    const int n = 1 << 16;
    cudaStream_t producer, consumer;
    cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking);
    float *x, *y;
    unsigned* stage;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMalloc(&stage, sizeof(unsigned));
    cudaMemset(stage, 0, sizeof(unsigned));
    cudaDeviceSynchronize();

    cuStreamWriteValue32(producer, (CUdeviceptr)stage, 1, 0);
    produce<<<n / 256, 256, 0, producer>>>(x, n);
    cuStreamWriteValue32(producer, (CUdeviceptr)stage, 2, 0);

    cuStreamWaitValue32(consumer, (CUdeviceptr)stage, 2, CU_STREAM_WAIT_VALUE_GEQ);
    consume<<<n / 256, 256, 0, consumer>>>(x, y, n);

    cudaDeviceSynchronize();
    cudaFree(stage);
    cudaFree(y);
    cudaFree(x);
    cudaStreamDestroy(consumer);
    cudaStreamDestroy(producer);
    return 0;
}
