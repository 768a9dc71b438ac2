// Allocation and kernel are in one stream: the event and the wait between them order what is ordered.
#include <cuda_runtime.h>

__global__ void step(float* scratch) { scratch[threadIdx.x] = 1.0f; }

int main() {
    cudaStream_t stream;
    cudaEvent_t allocated;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&allocated, cudaEventDisableTiming);
    for (int round = 0; round < 4; ++round) {
        float* scratch;
        cudaMallocAsync(&scratch, 256 * sizeof(float), stream);
        cudaEventRecord(allocated, stream);
        cudaStreamWaitEvent(stream, allocated, 0);
        step<<<1, 256, 0, stream>>>(scratch);
        cudaFreeAsync(scratch, stream);
    }
    cudaStreamSynchronize(stream);
    cudaEventDestroy(allocated);
    cudaStreamDestroy(stream);
}
