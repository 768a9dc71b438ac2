// Workers in a vector of threads; one program waits for them, the other lets them go and resets the device.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define CUDA_CHECK(x)                                        \
    do {                                                     \
        cudaError_t e = (x);                                 \
        if (e != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(e));  \
            exit(1);                                         \
        }                                                    \
    } while (0)

__global__ void churn(float* v, int rounds)
{
    for (int r = 0; r < rounds; ++r) v[threadIdx.x] = v[threadIdx.x] * 0.5f + 1.0f;
}

int main()
{
    CUDA_CHECK(cudaSetDevice(0));
    std::vector<std::thread> workers;
    for (int w = 0; w < 3; ++w) {
        workers.emplace_back([w] {
            cudaStream_t stream;
            float* v;
            CUDA_CHECK(cudaSetDevice(0));
            CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            CUDA_CHECK(cudaMallocAsync(&v, 256 * sizeof(float), stream));
            CUDA_CHECK(cudaMemsetAsync(v, 0, 256 * sizeof(float), stream));
            churn<<<1, 256, 0, stream>>>(v, 100 * (w + 1));
            CUDA_CHECK(cudaFreeAsync(v, stream));
            CUDA_CHECK(cudaStreamSynchronize(stream));
            CUDA_CHECK(cudaStreamDestroy(stream));
        });
    }
    for (auto& worker : workers) worker.join();
    CUDA_CHECK(cudaDeviceReset());
    return 0;
}
