// A C-style solver: a helper tears the workspace down, and the residual is read back afterwards.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static void check(cudaError_t status, const char* file, int line)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "%s(%d): CUDA error %s\n", file, line, cudaGetErrorName(status));
        exit(1);
    }
}
#define CK(expr) check((expr), __FILE__, __LINE__)

struct Workspace {
    double* x;
    double* residual;
    size_t count;
};

__global__ void jacobi(double* x, double* residual, size_t count)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i == 0 || i + 1 >= count) return;
    double next = 0.5 * (x[i - 1] + x[i + 1]);
    residual[i] = next - x[i];
    x[i] = next;
}

static void workspace_create(Workspace* ws, size_t count)
{
    ws->count = count;
    CK(cudaMalloc((void**)&ws->x, count * sizeof(double)));
    CK(cudaMalloc((void**)&ws->residual, count * sizeof(double)));
    CK(cudaMemset(ws->x, 0, count * sizeof(double)));
    CK(cudaMemset(ws->residual, 0, count * sizeof(double)));
}

static void workspace_destroy(Workspace* ws)
{
    CK(cudaFree(ws->x));
    CK(cudaFree(ws->residual));
}

int main(void)
{
    const size_t count = 4096;
    double* host = (double*)malloc(count * sizeof(double));
    if (!host) return 1;

    Workspace ws;
    workspace_create(&ws, count);
    for (int sweep = 0; sweep < 3; ++sweep) {
        jacobi<<<(unsigned)((count + 127) / 128), 128>>>(ws.x, ws.residual, count);
        CK(cudaGetLastError());
    }
    CK(cudaDeviceSynchronize());

    workspace_destroy(&ws);
    CK(cudaMemcpy(host, ws.residual, count * sizeof(double), cudaMemcpyDeviceToHost));  // expect: SS101
    printf("residual %g\n", host[1]);
    free(host);
    return 0;
}
