// Each kernel fills the device: the wait between two streams costs what the host needs to go on, and no more.
#include "timed.cuh"

int main(int count, char** words) {
    const bool changed = is_changed(count, words);
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    const int blocks = device.multiProcessorCount * (device.maxThreadsPerMultiProcessor / 1024);
    cudaStream_t one, other;
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    int *first = nullptr, *second = nullptr;
    CHECK(cudaMalloc(&first, 1 << 22));
    CHECK(cudaMalloc(&second, 1 << 22));
    spin<<<1, 1, 0, one>>>(first, 1);
    CHECK(cudaDeviceSynchronize());
    timed([&] {
        for (int turn = 0; turn < 100; ++turn) {
            spin<<<blocks, 1024, 0, one>>>(first, 100);
            if (!changed) CHECK(cudaStreamSynchronize(one));  // asked
            host_works(40);
            spin<<<blocks, 1024, 0, other>>>(second, 100);
        }
    });
}
