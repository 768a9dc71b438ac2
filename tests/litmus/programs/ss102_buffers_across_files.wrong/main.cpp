// Buffers end in the order of the stream that they were made with; the last kernel runs on another one. Three files.
#include "buffers.h"

int main()
{
    const int n = 1 << 16;
    cudaStream_t memory, work;
    cudaEvent_t ready, done;
    cudaStreamCreateWithFlags(&memory, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    {
        Buffer x(n * sizeof(float), memory);
        cudaMemsetAsync(x.get(), 0, n * sizeof(float), memory);
        cudaEventRecord(ready, memory);
        cudaStreamWaitEvent(work, ready, 0);
        scale(x.get(), n, 2.0f, work);
    }
    cudaStreamSynchronize(work);
    cudaStreamSynchronize(memory);
    cudaEventDestroy(done);
    cudaEventDestroy(ready);
    cudaStreamDestroy(work);
    cudaStreamDestroy(memory);
}
