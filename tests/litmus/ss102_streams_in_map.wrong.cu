// Streams by name in a map, options by #ifdef, a cleanup that walks the map.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifdef USE_DEFAULT_STREAMS
#define STREAM_FLAGS cudaStreamDefault
#else
#define STREAM_FLAGS cudaStreamNonBlocking
#endif

#define CUDA_CHECK(x)                                        \
    do {                                                     \
        cudaError_t e = (x);                                 \
        if (e != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(e));  \
            exit(1);                                         \
        }                                                    \
    } while (0)

template <typename T, int Block = BLOCK_SIZE>
struct Launcher {
    template <typename Kernel, typename... Args>
    static void run(Kernel kernel, int n, cudaStream_t stream, Args... args)
    {
        kernel<<<(n + Block - 1) / Block, Block, 0, stream>>>(args..., n);
        CUDA_CHECK(cudaGetLastError());
    }
};

__global__ void count_zeros(const int* v, int* zeros, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && v[i] == 0) atomicAdd(zeros, 1);
}

int main()
{
    const int n = 1 << 15;
    std::map<std::string, cudaStream_t> streams;
    for (const char* name : {"load", "count"}) {
        cudaStream_t stream;
        CUDA_CHECK(cudaStreamCreateWithFlags(&stream, STREAM_FLAGS));
        streams[name] = stream;
    }
    int *v, *zeros;
    CUDA_CHECK(cudaMallocManaged(&zeros, sizeof(int)));
    *zeros = 0;
    CUDA_CHECK(cudaMallocAsync(&v, n * sizeof(int), streams["load"]));
    CUDA_CHECK(cudaMemsetAsync(v, 0, n * sizeof(int), streams["load"]));
    CUDA_CHECK(cudaStreamSynchronize(streams["load"]));

    Launcher<int>::run(count_zeros, n, streams["count"], v, zeros);
    CUDA_CHECK(cudaFreeAsync(v, streams["load"]));  // expect: SS102

    CUDA_CHECK(cudaDeviceSynchronize());
    printf("%d zeros\n", *zeros);
    CUDA_CHECK(cudaFree(zeros));
    for (auto& [name, stream] : streams) {
        CUDA_CHECK(cudaStreamDestroy(stream));
        printf("closed %s\n", name.c_str());
    }
    return 0;
}
