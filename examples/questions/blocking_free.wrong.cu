// Two streams that could overlap, and scratch memory of each request from cudaMalloc: every free waits for both.
#include <cuda_runtime.h>

__global__ void work(const float* request, float* scratch, float* answer) {
    scratch[threadIdx.x] = 2.0f * request[threadIdx.x];
    answer[threadIdx.x] = scratch[threadIdx.x] + 1.0f;
}

int main() {
    cudaStream_t streams[2];
    float *requests[2], *answers[2];
    for (int i = 0; i < 2; ++i) {
        cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
        cudaMalloc(&requests[i], 256 * sizeof(float));
        cudaMalloc(&answers[i], 256 * sizeof(float));
        cudaMemsetAsync(requests[i], 0, 256 * sizeof(float), streams[i]);
    }
    for (int request = 0; request < 100; ++request) {
        int i = request % 2;
        float* scratch;
        cudaMalloc(&scratch, 256 * sizeof(float));
        work<<<1, 256, 0, streams[i]>>>(requests[i], scratch, answers[i]);
        cudaFree(scratch);
    }
    cudaDeviceSynchronize();
    for (int i = 0; i < 2; ++i) {
        cudaFree(requests[i]);
        cudaFree(answers[i]);
        cudaStreamDestroy(streams[i]);
    }
}
