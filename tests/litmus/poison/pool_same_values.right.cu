// A pool of the program takes a block back and gives it away before its reader is done; the next owner waits for the
// reader on the device before it uses the block.
#include <cstdio>
#include <cuda_runtime.h>

#include "streamsan.h"

__global__ void fill(float* data, int count, float value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] = value;
}

__global__ void late_sum(const float* data, int count, double* total, long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += data[i];
    atomicAdd(total, sum);
}

int main() {
    constexpr int count = 1 << 20, rounds = 10;
    constexpr size_t bytes = count * sizeof(float);
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    double* totals;
    cudaMallocManaged(&totals, rounds * sizeof(double));
    for (int k = 0; k < rounds; ++k) totals[k] = 0;
    float* segment;
    cudaMalloc(&segment, 2 * bytes);
    float* const block = segment + count;
    streamsan_hand_out(segment, bytes);
    streamsan_take_back(segment);
    cudaEvent_t read;
    cudaEventCreateWithFlags(&read, cudaEventDisableTiming);
    for (int k = 0; k < rounds; ++k) {
        streamsan_hand_out(block, bytes);
        fill<<<64, 256, 0, s>>>(block, count, 1.0f);
        cudaStreamSynchronize(s);
        late_sum<<<1, 256, 0, t>>>(block, count, &totals[k], 4'000'000);
        cudaEventRecord(read, t);
        streamsan_take_back(block);
        streamsan_hand_out(block, bytes);
        cudaStreamWaitEvent(s, read, 0);
        fill<<<64, 256, 0, s>>>(block, count / 2, 1.0f);
        cudaDeviceSynchronize();
        streamsan_take_back(block);
    }
    int wrong = 0;
    for (int k = 0; k < rounds; ++k) wrong += !(totals[k] == count);
    std::printf("%d of %d wrong\n", wrong, rounds);
    return 0;
}
