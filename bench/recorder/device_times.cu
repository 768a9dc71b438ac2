// Work of known length, each piece alone on the device. Prints a line for each: what it is, and the microseconds that events
// around it measured. The first round warms up.
#include <initializer_list>

#include "check.cuh"

namespace {

__global__ void spin(unsigned long long nanoseconds) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < nanoseconds);
}

cudaStream_t stream;
cudaEvent_t before, after;

template <class Work>
void timed(const char* what, Work work) {
    CHECK(cudaEventRecord(before, stream));
    work();
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(after, stream));
    CHECK(cudaStreamSynchronize(stream));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, before, after));
    std::printf("%s %.1f\n", what, milliseconds * 1000);
}

}  // namespace

int main() {
    constexpr std::size_t bytes = std::size_t{64} << 20;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    char *one, *other, *pinned;
    CHECK(cudaMalloc(&one, bytes));
    CHECK(cudaMalloc(&other, bytes));
    CHECK(cudaMallocHost(&pinned, bytes));
    int device, processors;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int kernel = 0; kernel < 2; ++kernel) spin<<<1, 32, 0, stream>>>(1'000'000);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    for (int round = 0; round < 3; ++round) {
        for (const int blocks : {1, processors, 100 * processors})
            timed("kernel", [=] { spin<<<blocks, 1024, 0, stream>>>(2'000'000); });
        timed("in", [=] { CHECK(cudaMemcpyAsync(one, pinned, bytes, cudaMemcpyHostToDevice, stream)); });
        timed("out", [=] { CHECK(cudaMemcpyAsync(pinned, one, bytes, cudaMemcpyDeviceToHost, stream)); });
        timed("within", [=] { CHECK(cudaMemcpyAsync(other, one, bytes, cudaMemcpyDeviceToDevice, stream)); });
        timed("fill", [=] { CHECK(cudaMemsetAsync(one, 0, bytes, stream)); });
        timed("graph", [=] { CHECK(cudaGraphLaunch(exec, stream)); });
    }
    return 0;
}
