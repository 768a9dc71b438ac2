// Kernels that reach memory through texture and surface objects. The threads of all go along x, blocks in y are rows.
#include <cuda_runtime.h>

#define X (int)(blockIdx.x * blockDim.x + threadIdx.x)
#define Y (int)blockIdx.y

struct Field {
    float scale;
    cudaSurfaceObject_t heights;
    int side;
};

struct Layers {
    cudaTextureObject_t each[4];
    int count;
};

extern "C" {

__global__ void fetches(cudaTextureObject_t t, float* out, int begin, int n) {
    if (X < n) out[X] = tex1Dfetch<float>(t, begin + X);
}
__global__ void fetches_by_memory(cudaTextureObject_t t, float* out, const int* index) {
    out[X] = tex1Dfetch<float>(t, index[X]);
}
__global__ void samples(cudaTextureObject_t t, float* out, int width, int height) {
    if (X < width && Y < height) out[Y * width + X] = tex2D<float>(t, X + 0.5f, Y + 0.5f);
}
__global__ void samples_corners(cudaTextureObject_t t, float* out, int width) {
    out[Y * width + X] = tex2D<float>(t, X, Y);
}
__global__ void samples_around(cudaTextureObject_t t, float* out, int width) {
    float sum = 0;
    for (int down = -1; down <= 1; ++down)
        for (int right = -1; right <= 1; ++right) sum += tex2D<float>(t, X + right, Y + down);
    out[Y * width + X] = sum;
}
__global__ void samples_right_half(cudaTextureObject_t t, float* out, int width) {
    out[Y * width + X] = tex2D<float>(t, X + width / 2 + 0.5f, Y + 0.5f);
}
__global__ void samples_fractions(cudaTextureObject_t t, float* out, int width, int height) {
    out[Y * width + X] = tex2D<float>(t, (X + 0.5f) / width, (Y + 0.5f) / height);
}
__global__ void samples_middle(cudaTextureObject_t t, float* out) { out[X] = tex2D<float>(t, 0.5f, 0.5f); }
__global__ void samples_first_row(cudaTextureObject_t t, float* out) { out[X] = tex1D<float>(t, X + 0.5f); }
__global__ void samples_volume(cudaTextureObject_t t, float* out) { out[X] = tex3D<float>(t, X, Y, blockIdx.z + 0.25f); }
__global__ void samples_layers(cudaTextureObject_t t, float* out) {
    out[X] = tex2DLayered<float>(t, X + 0.5f, Y + 0.5f, threadIdx.z);
}
__global__ void gathers(cudaTextureObject_t t, float* out) { out[X] = tex2Dgather<float4>(t, X, Y).x; }
__global__ void samples_levels(cudaTextureObject_t t, float* out) {
    out[X] = tex2DGrad<float>(t, X, Y, make_float2(1, 0), make_float2(0, 1));
}
__global__ void draws(Field field) {
    if (X < field.side && Y < field.side) surf2Dwrite(field.scale, field.heights, X * 4, Y);
}
__global__ void draws_volume(cudaSurfaceObject_t s) { surf3Dwrite(1.0f, s, X * 4, Y, blockIdx.z); }
__global__ void moves(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    surf1Dwrite(surf1Dread<float>(from, X * 4), to, X * 4);
}
__global__ void raises(cudaSurfaceObject_t s) {
    surf2Dwrite(surf2Dread<float>(s, X * 4, Y) + 1, s, X * 4, Y);
}
__global__ void counts(cudaSurfaceObject_t s) {
    asm volatile("sured.b.add.2d.s32.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(X * 4), "r"(Y), "r"(1));
}
__global__ void chooses(cudaTextureObject_t a, cudaTextureObject_t b, float* out, int which) {
    out[X] = tex1Dfetch<float>(which ? a : b, X);
}
__global__ void blends(Layers layers, float* out) {
    float sum = 0;
    for (int layer = 0; layer < layers.count; ++layer) sum += tex1Dfetch<float>(layers.each[layer], X);
    out[X] = sum;
}
__global__ void finds(const cudaTextureObject_t* found, float* out) { out[X] = tex1Dfetch<float>(found[Y], X); }
__global__ void asks(cudaTextureObject_t t, int* out) {
    int width;
    asm volatile("txq.width.b32 %0, [%1];" : "=r"(width) : "l"(t));
    *out = width;
}
__device__ __noinline__ float inner(cudaTextureObject_t t, int at) {
    return tex1Dfetch<float>(t, at) * tex1Dfetch<float>(t, at + 1);
}
__global__ void calls(cudaTextureObject_t t, float* out) { out[X] = inner(t, X) + inner(t, X + 64); }
__global__ void passes_by(cudaTextureObject_t t, unsigned long long* out) { out[X] = t + X; }
}
