#include "buffers.h"

namespace {

__global__ void scale_kernel(float* x, int n, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

}  // namespace

void scale(float* x, int n, float by, cudaStream_t stream)
{
    scale_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, n, by);
}
