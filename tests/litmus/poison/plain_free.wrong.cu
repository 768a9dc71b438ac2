// A scratch buffer of the driver's pool is given back by `cudaFree`, which does not wait for the stream that still reads
// it. Nobody takes memory meanwhile, but on an H100 the sums are wrong without --poison, too.
#include <cstdio>
#include <cuda_runtime.h>

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
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    double* totals;
    cudaMallocManaged(&totals, rounds * sizeof(double));
    for (int k = 0; k < rounds; ++k) totals[k] = 0;
    cudaEvent_t made, read;
    cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&read, cudaEventDisableTiming);
    for (int k = 0; k < rounds; ++k) {
        float* scratch;
        cudaMallocAsync(&scratch, count * sizeof(float), s);
        fill<<<64, 256, 0, s>>>(scratch, count, 1.0f);
        cudaEventRecord(made, s);
        cudaStreamWaitEvent(t, made, 0);
        late_sum<<<1, 256, 0, t>>>(scratch, count, &totals[k], 4'000'000);
        cudaEventRecord(read, t);
        cudaFree(scratch);
        cudaDeviceSynchronize();
    }
    int wrong = 0;
    for (int k = 0; k < rounds; ++k) wrong += !(totals[k] == count);
    std::printf("%d of %d wrong\n", wrong, rounds);
    return 0;
}
