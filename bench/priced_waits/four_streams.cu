// Fact F-17: four streams allocate, compute for 1 ms and free. Each free waits for all of them.
#include "timed.cuh"

int main(int count, char** words) {
    const bool changed = is_changed(count, words);
    cudaStream_t streams[4];
    for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int* first = nullptr;
    CHECK(cudaMallocAsync(&first, 1 << 22, streams[0]));
    CHECK(cudaFreeAsync(first, streams[0]));
    int* warm = nullptr;
    CHECK(cudaMalloc(&warm, 64));
    spin<<<1, 1, 0, streams[0]>>>(warm, 1);
    CHECK(cudaDeviceSynchronize());
    timed([&] {
        for (int turn = 0; turn < 50; ++turn) {
            for (auto& stream : streams) {
                int* data = nullptr;
                if (changed) CHECK(cudaMallocAsync(&data, 1 << 22, stream));
                else CHECK(cudaMalloc(&data, 1 << 22));
                spin<<<1, 1, 0, stream>>>(data, 1000);
                if (changed) CHECK(cudaFreeAsync(data, stream));
                else CHECK(cudaFree(data));  // asked
            }
        }
    });
}
