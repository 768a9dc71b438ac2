// Sizes by user-defined literals: the staging area of one stream is a MiB longer than the room that the other one leaves.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

constexpr std::size_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::size_t operator""_MiB(unsigned long long n) { return n << 20; }

struct Region {
    std::size_t offset, bytes;
    constexpr std::size_t end() const { return offset + bytes; }
};

constexpr Region kInput{0, 2_MiB};
constexpr Region kOutput{2_MiB, 2_MiB - 4_KiB};

int main()
{
    char* pool;
    cudaStream_t input, output;
    CHECK(cudaStreamCreateWithFlags(&input, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&output, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&pool, kOutput.end() + 1_MiB));
    CHECK(cudaMemsetAsync(pool + kInput.offset, 1, kInput.bytes, input));
    CHECK(cudaMemsetAsync(pool + kOutput.offset, 2, kOutput.bytes, output));
    CHECK(cudaStreamSynchronize(input));
    CHECK(cudaStreamSynchronize(output));
    CHECK(cudaFree(pool));
    CHECK(cudaStreamDestroy(output));
    CHECK(cudaStreamDestroy(input));
    return 0;
}
