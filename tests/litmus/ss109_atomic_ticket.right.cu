// A producer thread stores a ticket when it has recorded its event; the consumer that does not look at it may come too early.
#include <cuda_runtime.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void write_block(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 11 * i;
}

__global__ void read_block(const int* p, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = p[i] - 1;
}

struct Channel {
    cudaStream_t stream;
    cudaEvent_t written;
    std::atomic<int> ticket{0};
};

int main()
{
    const int n = 1 << 14;
    int *p, *out;
    Channel channel;
    cudaStream_t reader;
    CHECK(cudaStreamCreateWithFlags(&channel.stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&channel.written, cudaEventDisableTiming));
    CHECK(cudaMalloc(&p, n * sizeof(int)));
    CHECK(cudaMalloc(&out, n * sizeof(int)));
    std::thread producer([&channel, p, n] {
        write_block<<<n / 256, 256, 0, channel.stream>>>(p, n);
        CHECK(cudaEventRecord(channel.written, channel.stream));
        channel.ticket.store(1, std::memory_order_release);
    });
    while (channel.ticket.load(std::memory_order_acquire) == 0) std::this_thread::yield();
    CHECK(cudaStreamWaitEvent(reader, channel.written, 0));
    read_block<<<n / 256, 256, 0, reader>>>(p, out, n);
    producer.join();
    CHECK(cudaStreamSynchronize(channel.stream));
    CHECK(cudaStreamSynchronize(reader));
    CHECK(cudaFree(out));
    CHECK(cudaFree(p));
    CHECK(cudaEventDestroy(channel.written));
    CHECK(cudaStreamDestroy(reader));
    CHECK(cudaStreamDestroy(channel.stream));
    return 0;
}
