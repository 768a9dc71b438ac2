// The same, and the host waits before it resets: nothing is pending any more.
#include <cuda_runtime.h>

__global__ void scale(float* values) { values[threadIdx.x] *= 2.0f; }

int main() {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    float* values;
    cudaMallocAsync(&values, 256 * sizeof(float), stream);
    cudaMemsetAsync(values, 0, 256 * sizeof(float), stream);
    scale<<<1, 256, 0, stream>>>(values);
    cudaFreeAsync(values, stream);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    cudaDeviceReset();
}
