// Two lanes meant to overlap. The temporary of each step is freed with cudaFree, which waits for both lanes.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(x)                                                          \
    do {                                                                       \
        cudaError_t e = (x);                                                   \
        if (e != cudaSuccess) {                                                \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

__global__ void stage(float* temporary, float* state, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        temporary[i] = state[i] * 2.0f;
        state[i] = temporary[i] + 1.0f;
    }
}

int main()
{
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(float);
    cudaStream_t lane[2];
    float* state[2];
    for (int i = 0; i < 2; ++i) {
        CUDA_CHECK(cudaStreamCreateWithFlags(&lane[i], cudaStreamNonBlocking));
        CUDA_CHECK(cudaMalloc(&state[i], bytes));
        CUDA_CHECK(cudaMemsetAsync(state[i], 0, bytes, lane[i]));
    }

    for (int step = 0; step < 4; ++step) {
        const int l = step & 1;
        float* temporary;
        CUDA_CHECK(cudaMalloc(&temporary, bytes));
        stage<<<n / 256, 256, 0, lane[l]>>>(temporary, state[l], n);
        CUDA_CHECK(cudaFree(temporary));  // expect-note: SS501
    }

    for (int i = 0; i < 2; ++i) CUDA_CHECK(cudaStreamSynchronize(lane[i]));
    for (int i = 0; i < 2; ++i) {
        CUDA_CHECK(cudaFree(state[i]));
        CUDA_CHECK(cudaStreamDestroy(lane[i]));
    }
    return 0;
}
