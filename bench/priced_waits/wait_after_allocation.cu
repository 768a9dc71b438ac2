// Fact F-18: a wait behind each stream-ordered allocation.
#include "timed.cuh"

int main(int count, char** words) {
    const bool changed = is_changed(count, words);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    unsigned long long keep = ~0ULL;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    int* data = nullptr;
    CHECK(cudaMallocAsync(&data, 1 << 22, stream));
    spin<<<1, 1, 0, stream>>>(data, 1);
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    timed([&] {
        for (int turn = 0; turn < 2000; ++turn) {
            CHECK(cudaMallocAsync(&data, 1 << 22, stream));
            if (!changed) CHECK(cudaStreamSynchronize(stream));  // asked
            spin<<<1, 32, 0, stream>>>(data, 20);
            CHECK(cudaFreeAsync(data, stream));
        }
    });
}
