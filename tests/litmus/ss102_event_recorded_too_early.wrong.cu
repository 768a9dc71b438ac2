// The event that should say "the reader is done" is recorded before the reader is launched.
#include <cuda_runtime.h>
#include <cstdlib>
#include <iostream>

namespace {

void verify(cudaError_t status, const char* what)
{
    if (status == cudaSuccess) return;
    std::cerr << what << ": " << cudaGetErrorString(status) << '\n';
    std::exit(EXIT_FAILURE);
}

__global__ void produce(int* frame, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) frame[i] = i;
}

__global__ void consume(const int* frame, int* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, frame[i]);
}

}  // namespace

#define VERIFY(call) verify(call, #call)

int main()
{
    constexpr int n = 1 << 18;
    cudaStream_t producer, consumer;
    VERIFY(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
    VERIFY(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    cudaEvent_t event;
    VERIFY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

    int* total;
    VERIFY(cudaMallocAsync(&total, sizeof(int), consumer));
    VERIFY(cudaMemsetAsync(total, 0, sizeof(int), consumer));

    int* frame;
    VERIFY(cudaMallocAsync(&frame, n * sizeof(int), producer));
    produce<<<n / 256, 256, 0, producer>>>(frame, n);
    VERIFY(cudaEventRecord(event, producer));
    VERIFY(cudaStreamWaitEvent(consumer, event, 0));

    VERIFY(cudaEventRecord(event, consumer));
    consume<<<n / 256, 256, 0, consumer>>>(frame, total, n);
    VERIFY(cudaStreamWaitEvent(producer, event, 0));
    VERIFY(cudaFreeAsync(frame, producer));  // expect: SS102

    int value = 0;
    VERIFY(cudaMemcpyAsync(&value, total, sizeof(int), cudaMemcpyDeviceToHost, consumer));
    VERIFY(cudaFreeAsync(total, consumer));
    VERIFY(cudaStreamSynchronize(consumer));
    VERIFY(cudaStreamSynchronize(producer));
    std::cout << value << '\n';
    VERIFY(cudaEventDestroy(event));
    VERIFY(cudaStreamDestroy(consumer));
    VERIFY(cudaStreamDestroy(producer));
    return 0;
}
