// Workers forked in a loop, after a stream was made to warm CUDA up.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(x)                                        \
    do {                                                     \
        cudaError_t e = (x);                                 \
        if (e != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(e));  \
            exit(1);                                         \
        }                                                    \
    } while (0)

__global__ void burn(float* v) { v[threadIdx.x] = sqrtf(threadIdx.x); }

static void serve(int rank)
{
    float* v;
    CUDA_CHECK(cudaSetDevice(rank));  // expect: SS204
    CUDA_CHECK(cudaMalloc(&v, 256 * sizeof(float)));
    burn<<<1, 256>>>(v);
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFree(v));
}

int main()
{
    const int workers = 2;
    cudaStream_t warmup;
    CUDA_CHECK(cudaStreamCreate(&warmup));
    CUDA_CHECK(cudaStreamDestroy(warmup));
    std::vector<pid_t> children;
    for (int rank = 0; rank < workers; ++rank) {
        pid_t pid = fork();
        if (pid == 0) {
            serve(rank);
            exit(0);
        }
        children.push_back(pid);
    }
    int failures = 0;
    for (pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) ++failures;
    }
    return failures;
}
