// The child of a fork tidies up what it inherited, device memory included.
#include <cuda_runtime.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stdio.h>
#include <stdlib.h>

static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

__global__ void prime(int *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = 2 * i + 1;
}

int main(void)
{
    const int n = 1024;
    int *v = NULL;
    char *log = (char *)malloc(4096);

    if (cudaMalloc((void **)&v, n * sizeof(int)) != cudaSuccess) die("cudaMalloc");
    prime<<<n / 256, 256>>>(v, n);
    if (cudaDeviceSynchronize() != cudaSuccess) die("prime");

    pid_t pid = fork();
    if (pid == -1) die("fork");
    switch (pid) {
    case 0:
        snprintf(log, 4096, "child of %d", (int)getppid());
        puts(log);
        free(log);
        cudaFree(v);  // expect: SS204
        _exit(0);
    default:
        waitpid(pid, NULL, 0);
        break;
    }

    free(log);
    if (cudaFree(v) != cudaSuccess) die("cudaFree");
    return 0;
}
