// Uploads and kernels on two streams, by events; the host waits for each upload as well before it fills the other buffer.
#include "timed.cuh"

int main(int count, char** words) {
    const bool changed = is_changed(count, words);
    constexpr std::size_t bytes = std::size_t{16} << 20;
    cudaStream_t upload, compute;
    CHECK(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    int *device[2], *host[2];
    cudaEvent_t ready[2], free[2];
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaMalloc(&device[i], bytes));
        CHECK(cudaMallocHost(&host[i], bytes));
        CHECK(cudaEventCreateWithFlags(&ready[i], cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&free[i], cudaEventDisableTiming));
        CHECK(cudaMemcpyAsync(device[i], host[i], bytes, cudaMemcpyHostToDevice, upload));
    }
    CHECK(cudaDeviceSynchronize());
    spin<<<1, 1, 0, compute>>>(device[0], 1);
    CHECK(cudaDeviceSynchronize());
    timed([&] {
        for (int turn = 0; turn < 100; ++turn) {
            const int here = turn % 2;
            if (turn > 1) CHECK(cudaStreamWaitEvent(upload, free[here], 0));
            CHECK(cudaMemcpyAsync(device[here], host[here], bytes, cudaMemcpyHostToDevice, upload));
            CHECK(cudaEventRecord(ready[here], upload));
            CHECK(cudaStreamWaitEvent(compute, ready[here], 0));
            spin<<<8, 128, 0, compute>>>(device[here], 400);
            CHECK(cudaEventRecord(free[here], compute));
            if (!changed) CHECK(cudaEventSynchronize(free[here]));  // asked
        }
    });
}
