// Slabs of a pitched volume are copied by parameters whose extent and positions are variables; one slab reaches into the next.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

static cudaMemcpy3DParms slab(cudaPitchedPtr from, cudaPitchedPtr to, int first, cudaExtent extent)
{
    cudaMemcpy3DParms p = {};
    p.srcPtr = from;
    p.srcPos = make_cudaPos(0, 0, first);
    p.dstPtr = to;
    p.dstPos = make_cudaPos(0, 0, first);
    p.extent = extent;
    p.kind = cudaMemcpyDeviceToDevice;
    return p;
}

int main()
{
    const int width = 64, height = 64, depth = 32, half = depth / 2;
    cudaPitchedPtr field, left, right;
    const cudaExtent whole = make_cudaExtent(width * sizeof(float), height, depth);
    CHECK(cudaMalloc3D(&left, whole));
    CHECK(cudaMalloc3D(&right, whole));
    CHECK(cudaMalloc3D(&field, whole));
    CHECK(cudaMemset3D(left, 1, whole));
    CHECK(cudaMemset3D(right, 2, whole));
    CHECK(cudaDeviceSynchronize());
    cudaStream_t lower, upper;
    CHECK(cudaStreamCreateWithFlags(&lower, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&upper, cudaStreamNonBlocking));
    cudaExtent part = whole;
    part.depth = half;
    const cudaMemcpy3DParms below = slab(left, field, 0, part);
    part.depth = half;
    const cudaMemcpy3DParms above = slab(right, field, half, part);
    CHECK(cudaMemcpy3DAsync(&below, lower));
    CHECK(cudaMemcpy3DAsync(&above, upper));
    CHECK(cudaStreamSynchronize(lower));
    CHECK(cudaStreamSynchronize(upper));
    CHECK(cudaFree(field.ptr));
    CHECK(cudaFree(right.ptr));
    CHECK(cudaFree(left.ptr));
    CHECK(cudaStreamDestroy(upper));
    CHECK(cudaStreamDestroy(lower));
    return 0;
}
