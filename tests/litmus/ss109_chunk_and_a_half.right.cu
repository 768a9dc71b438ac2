// Two streams fill chunks of one array, the second behind the first.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    const int chunk = n / 2;
    cudaStream_t first, second;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreate(&second));
    unsigned char* mask;
    CHECK(cudaMalloc(&mask, 2 * chunk));

    CHECK(cudaMemsetAsync(mask, 0x00, chunk, first));
    CHECK(cudaMemsetAsync(mask + chunk, 0xff, chunk, second));

    CHECK(cudaDeviceSynchronize());
    std::vector<unsigned char> host(2 * chunk);
    CHECK(cudaMemcpy(host.data(), mask, chunk, cudaMemcpyDeviceToHost));
    std::printf("%d\n", host[0]);
    CHECK(cudaFree(mask));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
}
