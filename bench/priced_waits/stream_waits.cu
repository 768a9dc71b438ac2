// The second stream waits for the first one in each turn, though they share nothing.
#include "timed.cuh"

int main(int count, char** words) {
    const bool changed = is_changed(count, words);
    cudaStream_t one, other;
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    int *first = nullptr, *second = nullptr;
    CHECK(cudaMalloc(&first, 1 << 22));
    CHECK(cudaMalloc(&second, 1 << 22));
    cudaEvent_t done, back;
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&back, cudaEventDisableTiming));
    spin<<<1, 1, 0, one>>>(first, 1);
    spin<<<1, 1, 0, other>>>(second, 1);
    CHECK(cudaDeviceSynchronize());
    timed([&] {
        for (int turn = 0; turn < 100; ++turn) {
            spin<<<4, 128, 0, one>>>(first, 300);
            CHECK(cudaEventRecord(done, one));
            if (!changed) CHECK(cudaStreamWaitEvent(other, done, 0));  // asked
            spin<<<4, 128, 0, other>>>(second, 200);
            CHECK(cudaEventRecord(back, other));
            CHECK(cudaStreamWaitEvent(one, back, 0));
        }
    });
}
