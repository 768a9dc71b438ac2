// Two independent chains of kernels, of which the longer one alternates; each turn waits for both.
#include "timed.cuh"

int main(int count, char** words) {
    const bool changed = is_changed(count, words);
    cudaStream_t one, other;
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    int *first = nullptr, *second = nullptr;
    CHECK(cudaMalloc(&first, 1 << 22));
    CHECK(cudaMalloc(&second, 1 << 22));
    spin<<<1, 1, 0, one>>>(first, 1);
    spin<<<1, 1, 0, other>>>(second, 1);
    CHECK(cudaDeviceSynchronize());
    timed([&] {
        for (int turn = 0; turn < 100; ++turn) {
            const bool even = turn % 2 == 0;
            spin<<<4, 128, 0, one>>>(first, even ? 500 : 150);
            spin<<<4, 128, 0, other>>>(second, even ? 150 : 500);
            if (!changed) CHECK(cudaDeviceSynchronize());  // asked
        }
    });
}
