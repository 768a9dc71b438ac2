// Orders are written to pinned memory and priced on the GPU while the host checks them. Where an order is refused,
// the next ones are written without a wait for the kernel.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                             \
    do {                                                                                       \
        cudaError_t error = (call);                                                            \
        if (error != cudaSuccess) {                                                            \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error));        \
            std::exit(2);                                                                      \
        }                                                                                      \
    } while (false)

constexpr int kOrders = 1 << 12, kBooks = 6;

struct Refused {
    int book;
};

__global__ void price(const int* amounts, int* total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, amounts[i] * 3);
}

void check_limit(const int* amounts, int book, int limit) {
    int sum = 0;
    for (int i = 0; i < kOrders; ++i) sum += amounts[i];
    if (sum > limit) throw Refused{book};
}

int main(int argc, char** argv) {
    int limit = argc > 1 ? std::atoi(argv[1]) : 4 * kOrders;
    int *amounts, *total;
    CUDA(cudaMallocHost(&amounts, kOrders * sizeof(int)));
    CUDA(cudaMalloc(&total, sizeof(int)));
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMemsetAsync(total, 0, sizeof(int), stream));
    int refused = 0;
    for (int book = 0; book < kBooks; ++book) {
        for (int i = 0; i < kOrders; ++i) amounts[i] = book;  // expect: SS108
        try {
            price<<<kOrders / 256, 256, 0, stream>>>(amounts, total, kOrders);
            check_limit(amounts, book, limit);
            CUDA(cudaStreamSynchronize(stream));
        } catch (const Refused& refusal) {
            std::printf("book %d is over the limit\n", refusal.book);
            ++refused;
        }
    }
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(total));
    CUDA(cudaFreeHost(amounts));
    return refused == kBooks;
}
