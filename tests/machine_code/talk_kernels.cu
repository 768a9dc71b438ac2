// Kernels that may talk to the host while they run, and kernels that look a little like them.
#include <cuda_runtime.h>

extern "C" {
__global__ void writes(int* p) { p[threadIdx.x] = 1; }
__global__ void counts(int* p) { atomicAdd(p, 1); }
__global__ void fences_on_device(int* p) {
    p[threadIdx.x] = 1;
    __threadfence();
    p[threadIdx.x + 64] = 2;
}
__global__ void announces(int* p) {
    p[threadIdx.x + 1] = 1;
    __threadfence_system();
    p[0] = 2;
}
__global__ void sets_volatile(volatile int* p) { p[threadIdx.x] = 1; }
__global__ void polls(const volatile int* p) {
    while (p[0] == 0) {}
}
__global__ void counts_for_all(int* p) { atomicAdd_system(p, 1); }
}
