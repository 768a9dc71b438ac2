// The same, with scratch memory in the order of each stream: nothing waits, and the streams overlap.
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
        cudaMallocAsync(&scratch, 256 * sizeof(float), streams[i]);
        work<<<1, 256, 0, streams[i]>>>(requests[i], scratch, answers[i]);
        cudaFreeAsync(scratch, streams[i]);
    }
    cudaDeviceSynchronize();
    for (int i = 0; i < 2; ++i) {
        cudaFree(requests[i]);
        cudaFree(answers[i]);
        cudaStreamDestroy(streams[i]);
    }
}
