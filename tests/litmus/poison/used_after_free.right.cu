// The last kernel that reads a scratch buffer comes before its free, in the same stream.
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
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    double* totals;
    cudaMallocManaged(&totals, rounds * sizeof(double));
    for (int k = 0; k < rounds; ++k) totals[k] = 0;
    for (int k = 0; k < rounds; ++k) {
        float* scratch;
        cudaMallocAsync(&scratch, count * sizeof(float), s);
        fill<<<64, 256, 0, s>>>(scratch, count, 1.0f);
        late_sum<<<1, 256, 0, s>>>(scratch, count, &totals[k], 0);
        cudaFreeAsync(scratch, s);
        cudaDeviceSynchronize();
    }
    int wrong = 0;
    for (int k = 0; k < rounds; ++k) wrong += !(totals[k] == count);
    std::printf("%d of %d wrong\n", wrong, rounds);
    return 0;
}
