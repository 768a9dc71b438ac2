// A preloading server initialises CUDA and then forks its workers.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(x)                                                            \
    do {                                                                         \
        cudaError_t e = (x);                                                     \
        if (e != cudaSuccess) {                                                  \
            fprintf(stderr, "[%d] %s\n", (int)getpid(), cudaGetErrorString(e));  \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

__global__ void serve(float* scores, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) scores[i] = 1.0f / (1 + i);
}

static int worker(int n)
{
    float* scores = nullptr;
    CUDA_CHECK(cudaMalloc(&scores, n * sizeof(float)));  // expect: SS204
    serve<<<(n + 255) / 256, 256>>>(scores, n);
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFree(scores));
    return 0;
}

int main()
{
    int devices = 0;
    CUDA_CHECK(cudaGetDeviceCount(&devices));
    CUDA_CHECK(cudaFree(0));
    printf("%d devices\n", devices);

    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return 1;
    }
    if (child == 0) {
        _exit(worker(1 << 16));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
