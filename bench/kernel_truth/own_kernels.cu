// Kernels of our own, each launched with a few sizes: ways to reach memory that libraries' kernels have seldom.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cstdio>

namespace cg = cooperative_groups;

struct Pair {
    const float* from;
    float* to;
};
struct Many {
    float* rows[8];
    int count;
};
struct Node {
    Node* next;
    int value;
};

__device__ float scale_of_device = 2.0f;
__device__ int counted_on_device;

__global__ void axpy(int n, float a, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
__global__ void strides(int n, const float* __restrict__ x, float* __restrict__ y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * 2;
}
__global__ void pair_copy(Pair pair, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) pair.to[n - 1 - i] = pair.from[i];
}
__global__ void many_rows(Many many, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.y < many.count) many.rows[blockIdx.y][i] = static_cast<float>(i);
}
__global__ void stencil(const float* in, float* out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    const float* at = in + y * width + x;
    out[y * width + x] = 0.25f * (at[-1] + at[1] + at[-width] + at[width]);
}
__global__ void column(float* matrix, int width, int height, int which) {
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < height) matrix[y * width + which] = 1;
}
__global__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int step = 0; step < 32; step += 8)
        if (x < width && y + step < height) tile[threadIdx.y + step][threadIdx.x] = in[(y + step) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int step = 0; step < 32; step += 8)
        if (x < height && y + step < width) out[(y + step) * height + x] = tile[threadIdx.x][threadIdx.y + step];
}
template <class Value, int Block>
__global__ void sums(const Value* in, Value* out, int n) {
    __shared__ Value part[Block];
    Value sum = 0;
    for (int i = blockIdx.x * Block + threadIdx.x; i < n; i += gridDim.x * Block) sum += in[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = Block / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
__global__ void warp_sum(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? in[i] : 0;
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
    if (threadIdx.x % 32 == 0) atomicAdd(out, value);
}
__global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[in[i]], 1u);
}
__global__ void update_in_place(float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] > 0.5f ? 1.0f : x[i] * 0.5f;
}
__global__ void chosen(const float* a, const float* b, float* out, int n, int which) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float* from = which ? a : b;
    if (i < n) out[i] = from[i];
}
__global__ void compared(const float* a, const float* b, int* out) {
    if (threadIdx.x == 0) *out = a < b;
}
__global__ void table(float** rows, int count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int row = 0; row < count; ++row)
        if (i < n) rows[row][i] += 1;
}
__global__ void walk(const Node* node, int* out) {
    int sum = 0;
    for (; node != nullptr; node = node->next) sum += node->value;
    *out = sum;
}
__global__ void gathered(const int* index, const float* from, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[index[i]];
}
__global__ void scattered(const int* index, const float* from, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[index[i]] = from[i];
}
__global__ void by_device_variable(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * scale_of_device;
    if (i == 0) atomicAdd(&counted_on_device, 1);
}
__global__ void wide(const float4* in, float4* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
__global__ void bytes(const char* in, char* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = static_cast<char>(in[i] + 1);
}
__global__ void halves(const __half2* in, __half2* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __hadd2(in[i], in[i]);
}
__global__ void staged(const float* in, float* out, int n) {
    __shared__ float stage[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) __pipeline_memcpy_async(&stage[threadIdx.x], &in[i], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if (i < n) out[i] = stage[255 - threadIdx.x];
}
__global__ void told(volatile int* flag, const int* in, int* out) {
    if (threadIdx.x == 0) {
        out[0] = in[0];
        __threadfence();
        *flag = 1;
    }
}
__global__ void swapped(int* word, int* out) {
    out[threadIdx.x] = atomicCAS(word, 0, static_cast<int>(threadIdx.x) + 1);
    atomicExch(word + 1, 5);
    atomicMax(word + 2, static_cast<int>(threadIdx.x));
}
__global__ void last_block(const float* in, float* sum, unsigned* arrived, int n) {
    __shared__ bool last;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, in[i]);
    __threadfence();
    if (threadIdx.x == 0) last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0) sum[1] = sum[0];
}
__global__ void halves_of_one(float* buffer, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) buffer[n + i] = buffer[i];
}
__global__ void backwards(float* end, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) end[-1 - i] = 3;
}
__device__ __noinline__ void store(float* where, float value) { *where = value; }
__global__ void by_function(float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) store(out + i, static_cast<float>(i));
}
using Function = void (*)(float*, float);
__device__ Function stored_function = store;
__global__ void by_pointer_to_function(float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) stored_function(out + i, 1);
}
__global__ void kept_on_stack(float* a, float* b, float* c, int n, int which) {
    float* places[3] = {a, b, c};
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) places[(which + i) % 3][i] = 1;
}
__global__ void whole_grid(float* x, int n) {
    cg::grid_group grid = cg::this_grid();
    const int i = static_cast<int>(grid.thread_rank());
    if (i < n) x[i] += 1;
    grid.sync();
    if (i < n && i > 0) x[n + i] = x[i - 1];
}
__global__ void integers(unsigned long long address, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) reinterpret_cast<float*>(address)[i] = 1;
}
__global__ void low_bits(float* tagged, int n) {
    const auto word = reinterpret_cast<unsigned long long>(tagged);
    float* const at = reinterpret_cast<float*>(word & ~7ull);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) at[i] = static_cast<float>(word & 7);
}

namespace {

int failures = 0;
void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    ++failures;
}

/// Memory that is never freed: each buffer has an allocation of its own.
template <class Value>
Value* made(int count) {
    void* place = nullptr;
    check(cudaMalloc(&place, sizeof(Value) * static_cast<std::size_t>(count)), "cudaMalloc");
    check(cudaMemset(place, 0, sizeof(Value) * static_cast<std::size_t>(count)), "cudaMemset");
    return static_cast<Value*>(place);
}

void done(const char* name) { check(cudaDeviceSynchronize(), name); }

void run(int n) {
    const int threads = 256, blocks = (n + threads - 1) / threads;
    const dim3 square(32, 8), tiles((n / 10 + 31) / 32, 1);
    const auto f = [n] { return made<float>(2 * n + 8); };
    axpy<<<blocks, threads>>>(n, 2, f(), f());
    strides<<<3, threads>>>(n, f(), f());
    pair_copy<<<blocks, threads>>>({f(), f()}, n);
    Many many{{f(), f(), f(), f(), f()}, 5};
    many_rows<<<dim3(blocks, 7), threads>>>(many, n);
    const int width = n / 10, height = 10;
    stencil<<<dim3((width + 31) / 32, (height + 7) / 8), square>>>(f(), f(), width, height);
    column<<<1, 64>>>(f(), width, height, 3);
    transpose<<<tiles, square>>>(f(), f(), width, height);
    done("tiles");
    sums<float, 128><<<4, 128>>>(f(), f(), n);
    sums<double, 64><<<4, 64>>>(made<double>(n), made<double>(4), n);
    sums<int, 256><<<2, 256>>>(made<int>(n), made<int>(2), n);
    warp_sum<<<blocks, threads>>>(f(), f(), n);
    histogram<<<blocks, threads>>>(made<unsigned char>(n), made<unsigned>(256), n);
    update_in_place<<<blocks, threads>>>(f(), n);
    chosen<<<blocks, threads>>>(f(), f(), f(), n, 0);
    chosen<<<blocks, threads>>>(f(), f(), f(), n, 1);
    compared<<<1, 32>>>(f(), f(), made<int>(1));
    done("sums");
    float* rows[3] = {f(), f(), f()};
    float** const on_device = made<float*>(3);
    check(cudaMemcpy(on_device, rows, sizeof rows, cudaMemcpyHostToDevice), "cudaMemcpy");
    table<<<blocks, threads>>>(on_device, 3, n);
    Node* const second = made<Node>(1);
    Node* const first = made<Node>(1);
    const Node linked{second, 5};
    check(cudaMemcpy(first, &linked, sizeof linked, cudaMemcpyHostToDevice), "cudaMemcpy");
    walk<<<1, 1>>>(first, made<int>(1));
    gathered<<<blocks, threads>>>(made<int>(n), f(), f(), n);
    scattered<<<blocks, threads>>>(made<int>(n), f(), f(), n);
    by_device_variable<<<blocks, threads>>>(f(), f(), n);
    wide<<<blocks, threads>>>(made<float4>(n), made<float4>(n), n);
    bytes<<<blocks, threads>>>(made<char>(n), made<char>(n), n);
    halves<<<blocks, threads>>>(made<__half2>(n), made<__half2>(n), n);
    staged<<<blocks, threads>>>(f(), f(), n);
    told<<<1, 32>>>(made<int>(1), made<int>(1), made<int>(1));
    swapped<<<1, 64>>>(made<int>(3), made<int>(64));
    last_block<<<blocks, threads>>>(f(), f(), made<unsigned>(1), n);
    done("atomic operations");
    halves_of_one<<<blocks, threads>>>(f(), n);
    backwards<<<blocks, threads>>>(f() + n, n);
    by_function<<<blocks, threads>>>(f(), n);
    by_pointer_to_function<<<blocks, threads>>>(f(), n);
    kept_on_stack<<<blocks, threads>>>(f(), f(), f(), n, 1);
    float* grid_wide = f();
    int count = n < 4096 ? n : 4096;
    void* given[] = {&grid_wide, &count};
    check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(whole_grid), dim3(16), dim3(256), given), "whole_grid");
    integers<<<blocks, threads>>>(reinterpret_cast<unsigned long long>(f()), n);
    low_bits<<<blocks, threads>>>(f() + 1, n);
    done("the others");
}

}  // namespace

int main() {
    for (const int n : {1000, 4096, 77770}) run(n);
    std::puts(failures ? "failed" : "kernels ran");
    return failures != 0;
}
