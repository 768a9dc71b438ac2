// Kernels that poll memory which others write, and kernels that look a little like them.
#include <cuda/atomic>
#include <cuda_runtime.h>

using cuda::thread_scope_device;

extern "C" {
__global__ void polls_volatile(volatile int* flag, float* out) {
    while (*flag == 0) {}
    out[threadIdx.x] = 1.0f;
}
__global__ void polls_acquire(int* flag, float* out) {
    cuda::atomic_ref<int, thread_scope_device> ready(*flag);
    while (ready.load(cuda::memory_order_acquire) == 0) {}
    out[threadIdx.x] = 1.0f;
}
__global__ void polls_assembly(int* flag, float* out) {
    int value;
    do {
        asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    } while (value != 1);
    out[threadIdx.x] = 1.0f;
}
__global__ void polls_by_adding_nothing(int* flag, float* out) {
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) __nanosleep(100);
    }
    __syncthreads();
    out[threadIdx.x] = 1.0f;
}
__global__ void takes_lock(int* lock, float* out) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        out[0] += 1.0f;
        __threadfence();
        atomicExch(lock, 0);
    }
}
__global__ void stops_when_told(volatile int* stop, float* out, int rounds) {
    for (int round = 0; round < rounds && *stop == 0; ++round) out[threadIdx.x] += 1.0f;
}
// Each waits for the other: one writes the first flag and awaits the second.
__global__ void answers(volatile int* flags, float* out) {
    while (flags[1] == 0) {}
    out[threadIdx.x] = 1.0f;
    __threadfence();
    flags[0] = 1;
}
__device__ volatile int gate;
__global__ void polls_variable(float* out) {
    while (gate == 0) {}
    out[threadIdx.x] = 1.0f;
}

__global__ void looks_once(volatile int* flag, float* out) {
    if (*flag != 0) out[threadIdx.x] = 1.0f;
}
__global__ void looks_plainly(const int* flag, float* out) { out[threadIdx.x] = static_cast<float>(*flag); }
__global__ void waits_plainly(const int* flag, float* out) {
    for (int round = 0; round < 1000 && flag[round] == 0; ++round) out[threadIdx.x] += 1.0f;
}
__global__ void sums_volatile(volatile float* in, float* out, int count) {
    float sum = 0.0f;
    for (int i = 0; i < count; ++i) sum += in[i];
    out[0] = sum;
}
__global__ void takes_tasks(int* next, float* out, int count) {
    for (int task; (task = atomicAdd(next, 1)) < count;) out[task] = 1.0f;
}
__global__ void adds_by_exchange(int* sum, float* out) {
    int known = *sum, seen;
    do {
        seen = known;
        known = atomicCAS(sum, seen, seen * 3 + 1);
    } while (known != seen);
    out[0] = 1.0f;
}
// A scan: each block awaits what the one before it wrote.
__global__ void looks_back(volatile int* states, float* out) {
    const int block = blockIdx.x;
    if (threadIdx.x == 0) {
        while (block > 0 && states[block - 1] == 0) {}
        states[block] = 1;
    }
    __syncthreads();
    out[block * blockDim.x + threadIdx.x] = 1.0f;
}

__global__ void publishes(int* flag, float* data) {
    data[threadIdx.x] = 2.0f;
    __threadfence();
    if (threadIdx.x == 0) *flag = 1;
}
__global__ void publishes_volatile(volatile int* flag, float* data) {
    data[threadIdx.x] = 2.0f;
    __threadfence();
    if (threadIdx.x == 0) *flag = 1;
}
__global__ void fills(float* data) { data[threadIdx.x] = 3.0f; }
__global__ void sets(int* flag) { *flag = 1; }
}
