// Slots have events in an array of arrays; the consumer waits for the event of the slot before its own.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

constexpr int kSlots = 2, kCount = 1 << 12;
enum Side { kFull, kEmpty };

__global__ void fill(int* slot, int round, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) slot[i] = round + i;
}

__global__ void drain(const int* slot, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = slot[i];
}

int main()
{
    int *slot[kSlots], *out;
    cudaEvent_t event[kSlots][2];
    cudaStream_t producer, consumer;
    CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void**)&out, kCount * sizeof(int)));
    for (int s = 0; s < kSlots; ++s) {
        CHECK(cudaMalloc((void**)&slot[s], kCount * sizeof(int)));
        for (cudaEvent_t& each : event[s]) CHECK(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
    }
    for (int round = 0; round < 6; ++round) {
        const int s = round % kSlots;
        const int before = (round + 1) % kSlots;
        CHECK(cudaStreamWaitEvent(producer, event[s][kEmpty], 0));
        fill<<<kCount / 256, 256, 0, producer>>>(slot[s], round, kCount);
        CHECK(cudaEventRecord(event[s][kFull], producer));
        CHECK(cudaStreamWaitEvent(consumer, event[before][kFull], 0));
        drain<<<kCount / 256, 256, 0, consumer>>>(slot[s], out, kCount);  // expect: SS109
        CHECK(cudaEventRecord(event[s][kEmpty], consumer));
    }
    CHECK(cudaStreamSynchronize(producer));
    CHECK(cudaStreamSynchronize(consumer));
    for (int s = 0; s < kSlots; ++s) {
        for (cudaEvent_t each : event[s]) CHECK(cudaEventDestroy(each));
        CHECK(cudaFree(slot[s]));
    }
    CHECK(cudaFree(out));
    CHECK(cudaStreamDestroy(consumer));
    CHECK(cudaStreamDestroy(producer));
    return 0;
}
