// A loop that allocates its scratch memory anew in each turn, while another stream works.
#include "timed.cuh"

int main(int count, char** words) {
    const bool changed = is_changed(count, words);
    cudaStream_t one, other;
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    int *kept = nullptr, *scratch = nullptr;
    CHECK(cudaMalloc(&kept, 1 << 22));
    CHECK(cudaMalloc(&scratch, 1 << 22));
    spin<<<1, 1, 0, one>>>(kept, 1);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(scratch));
    timed([&] {
        if (changed) CHECK(cudaMalloc(&scratch, 1 << 22));
        for (int turn = 0; turn < 100; ++turn) {
            spin<<<4, 128, 0, other>>>(kept, 500);
            if (!changed) CHECK(cudaMalloc(&scratch, 1 << 22));  // asked
            spin<<<4, 128, 0, one>>>(scratch, 200);
            if (!changed) CHECK(cudaFree(scratch));
        }
        if (changed) CHECK(cudaFree(scratch));
    });
}
