// What the programs on costs of waits share: a kernel that takes a known time, and how long the run took.
#pragma once
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status = (call);                                                 \
        if (status != cudaSuccess) {                                                       \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(2);                                                                  \
        }                                                                                  \
    } while (0)

/// Spins for so many microseconds, and writes once.
__global__ void spin(int* data, long long microseconds) {
    unsigned long long begun, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begun < microseconds * 1000ULL);
    if (blockIdx.x == 0 && threadIdx.x == 0) data[0] = static_cast<int>(now);
}

/// The host does something else.
inline void host_works(int microseconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
    while (std::chrono::steady_clock::now() < until) {
    }
}

inline bool is_changed(int count, char** words) { return count > 1 && std::strcmp(words[1], "changed") == 0; }

/// Runs it a few times, and prints how long it took in all, in ms.
template <class Run>
void timed(Run&& run) {
    const auto begun = std::chrono::steady_clock::now();
    run();
    CHECK(cudaDeviceSynchronize());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
    std::printf("%.6f\n", took.count());
}
