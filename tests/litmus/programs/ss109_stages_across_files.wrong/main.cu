// Two stages in a table of another file, each on its stream; the second does not wait for the first.
#include "stages.h"

static __global__ void kernel(float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[n - 1 - i] *= 0.5f;
}

int main()
{
    const int n = 4096;
    float* x;
    open_stages();
    cudaMalloc(&x, n * sizeof(float));
    kernel<<<(n + 127) / 128, 128, 0, stages[0].stream>>>(x, n);
    stages[0].run(x, n, stages[0].stream);
    stages[1].run(x, n, stages[1].stream);
    cudaDeviceSynchronize();
    cudaFree(x);
    close_stages();
}
