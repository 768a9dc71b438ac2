// The kernels of observer.cpp.
#include "kernels.hpp"

namespace {

constexpr int kThreads = 1024;

__device__ unsigned long long mixed(unsigned long long value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdull;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53ull;
    return value ^ value >> 33;
}

/** Sum up `size` bytes into `slot`, never 0: that means that the kernel has not run. One block. */
__global__ void sum_up(const unsigned char* bytes, size_t size, volatile unsigned long long* slot)
{
    __shared__ unsigned long long parts[kThreads];
    unsigned long long sum = 0;
    const size_t words = size / 4;
    const auto* whole = reinterpret_cast<const volatile unsigned*>(bytes);
    for (size_t i = threadIdx.x; i < words; i += kThreads) sum += mixed(i << 32 ^ whole[i]);
    for (size_t i = words * 4 + threadIdx.x; i < size; i += kThreads) sum += mixed(~(i << 8) ^ bytes[i]);
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *slot = parts[0] | 1;
}

__global__ void take_time(unsigned microseconds)
{
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        __nanosleep(2000);
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begin < microseconds * 1000ull);
}

}  // namespace

void begin_sum(const void* bytes, size_t size, volatile unsigned long long* slot, cudaStream_t stream)
{
    sum_up<<<1, kThreads, 0, stream>>>(static_cast<const unsigned char*>(bytes), size, slot);
}

void begin_delay(unsigned microseconds, cudaStream_t stream) { take_time<<<1, 1, 0, stream>>>(microseconds); }
