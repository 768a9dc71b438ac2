// The main thread resets the device while the logger thread may still be using it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CUDA_CHECK(x)                                                       \
    do {                                                                    \
        cudaError_t e = (x);                                                \
        if (e != cudaSuccess) {                                             \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(e));            \
            std::exit(1);                                                   \
        }                                                                   \
    } while (0)

__global__ void sample(int* counter) { atomicAdd(counter, 1); }

static void monitor(int rounds)
{
    int* counter = nullptr;
    int value = 0;
    CUDA_CHECK(cudaMalloc(&counter, sizeof(int)));
    CUDA_CHECK(cudaMemset(counter, 0, sizeof(int)));
    for (int i = 0; i < rounds; ++i) {
        sample<<<1, 32>>>(counter);
        CUDA_CHECK(cudaMemcpy(&value, counter, sizeof(int), cudaMemcpyDeviceToHost));
        std::printf("%d\n", value);
    }
    CUDA_CHECK(cudaFree(counter));
}

int main()
{
    CUDA_CHECK(cudaSetDevice(0));
    std::thread logger(monitor, 3);

    float* field;
    CUDA_CHECK(cudaMalloc(&field, 1 << 20));
    CUDA_CHECK(cudaMemset(field, 0, 1 << 20));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFree(field));

    CUDA_CHECK(cudaDeviceReset());  // expect: SS106
    logger.join();
    return 0;
}
