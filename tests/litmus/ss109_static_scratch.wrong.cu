// The scratch buffer of a helper is made once, at its first call: both lanes get the same one.
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

constexpr int count = 1 << 16;

__global__ void stage(const float* in, float* scratch, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    scratch[i] = in[i] * 2.0f;
    out[i] = scratch[i] + 1.0f;
}

static float* allocate(int n)
{
    float* made;
    CHECK(cudaMalloc(&made, n * sizeof(float)));
    return made;
}

static float* scratch_of(int lane)
{
    static float* scratch = allocate(count);
    (void)lane;
    return scratch;
}

static void run(int lane, const float* in, float* out, cudaStream_t stream)
{
    stage<<<count / 256, 256, 0, stream>>>(in, scratch_of(lane), out, count);  // expect: SS109
}

int main()
{
    float *in = allocate(count), *left = allocate(count), *right = allocate(count);
    CHECK(cudaMemset(in, 1, count * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    cudaStream_t a, b;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    run(0, in, left, a);
    run(1, in, right, b);
    CHECK(cudaDeviceSynchronize());
    for (float* p : {in, left, right}) CHECK(cudaFree(p));
    CHECK(cudaFree(scratch_of(0)));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    return 0;
}
