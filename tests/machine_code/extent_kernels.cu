// Kernels whose touched bytes the tests compare with those of the same code on the host (extent_kernels_host.cpp).
// Compiled by `make_cubins.sh`; how each is launched stands in extent_launches.py.
#ifdef __CUDACC__
template <class T>
using P = T*;
template <class U, class T>
__device__ P<U> cast(P<T> p) {
    return reinterpret_cast<U*>(p);
}
#define EVERY_KERNEL extern "C" __global__
#define GRID_CONSTANT __grid_constant__
#else
#include "extent_kernels_host.hpp"
#define EVERY_KERNEL static
#define GRID_CONSTANT
#endif

#define INDEX_X (blockIdx.x * blockDim.x + threadIdx.x)
#define INDEX_Y (blockIdx.y * blockDim.y + threadIdx.y)

EVERY_KERNEL void vector_add(P<const float> a, P<const float> b, P<float> c, int n) {
    int i = INDEX_X;
    if (i < n) c[i] = a[i] + b[i];
}

EVERY_KERNEL void axpy_wide(P<float> y, P<const float> x, float a, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

EVERY_KERNEL void doubles(P<const double> x, P<double> y, unsigned n) {
    unsigned i = INDEX_X;
    if (i >= n) return;
    y[i] = x[i] * 2;
}

EVERY_KERNEL void chars(P<const unsigned char> x, P<unsigned short> y, unsigned long long n) {
    unsigned long long i = INDEX_X;
    if (i < n) y[i] = x[i];
}

EVERY_KERNEL void no_guard(P<float> p) { p[INDEX_X] = 1; }

EVERY_KERNEL void grid_stride(P<const float> x, P<float> y, int n) {
    for (int i = INDEX_X; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * 2;
}

EVERY_KERNEL void grid_stride_wide(P<const float> x, P<float> y, unsigned long long n) {
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += (unsigned long long)gridDim.x * blockDim.x)
        y[i] = x[i] * 2;
}

EVERY_KERNEL void image(P<float> p, unsigned long long pitch, int w, int h, float value) {
    int x = INDEX_X, y = INDEX_Y;
    if (x < w && y < h) {
        P<float> row = cast<float>(cast<char>(p) + y * pitch);
        row[x] = value;
    }
}

EVERY_KERNEL void tile(P<const float> in, P<float> out, int width, int x0, int y0, int w, int h) {
    int x = INDEX_X, y = INDEX_Y;
    if (x >= w || y >= h) return;
    out[(y0 + y) * width + x0 + x] = in[y * w + x];
}

EVERY_KERNEL void transpose(P<const float> in, P<float> out, int w, int h) {
#ifdef __CUDACC__
    __shared__ float part[16][17];
#else
    static float part[16][17];
#endif
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < w && y < h) part[threadIdx.y][threadIdx.x] = in[y * w + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < h && y < w) out[y * h + x] = part[threadIdx.x][threadIdx.y];
}

EVERY_KERNEL void stencil(P<const float> in, P<float> out, int n) {
    int i = INDEX_X;
    if (i > 0 && i < n - 1) out[i] = in[i - 1] + in[i] + in[i + 1];
}

EVERY_KERNEL void stencil_plane(P<const float> in, P<float> out, int w, int h) {
    int x = INDEX_X + 1, y = INDEX_Y + 1;
    if (x < w - 1 && y < h - 1)
        out[y * w + x] = in[(y - 1) * w + x] + in[(y + 1) * w + x] + in[y * w + x - 1] + in[y * w + x + 1];
}

EVERY_KERNEL void total(P<const float> in, P<float> sum, int n) {
#ifdef __CUDACC__
    __shared__ float part[128];
#else
    static float part[128];
#endif
    int i = INDEX_X;
    part[threadIdx.x] = i < n ? float(in[i]) : 0.0f;
    for (int half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}

EVERY_KERNEL void total_per_block(P<const float> in, P<float> sums, int n) {
    float sum = 0;
    for (int i = INDEX_X; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

struct Fields {
    P<const float> in;
    int n;
    P<float> out;
};

EVERY_KERNEL void fields(Fields all) {
    int i = INDEX_X;
    if (i < all.n) all.out[i] = all.in[i];
}

EVERY_KERNEL void columns(P<float> matrix, int rows, int stride, int first, int count) {
    int column = threadIdx.x, row = INDEX_Y;
    if (column < count && row < rows) matrix[row * stride + first + column] = 0;
}

EVERY_KERNEL void even_or_odd(P<float> p, int n, int k) {
    int i = INDEX_X;
    if (i < n) p[2 * i + k] = 1;
}

EVERY_KERNEL void vectors(P<const float> in, P<float> out, int n) {
    int i = INDEX_X;
    if (i < n / 4) cast<float4>(out)[i] = cast<const float4>(in)[i];
    int tail = n / 4 * 4 + i;
    if (tail < n) out[tail] = in[tail];
}

EVERY_KERNEL void batch(P<const float> in, P<float> out, long long stride, int n) {
    int i = INDEX_X;
    if (i < n) out[blockIdx.y * stride + i] = in[blockIdx.y * stride + i];
}

EVERY_KERNEL void triangle(P<float> matrix, int n) {
    int row = INDEX_X;
    if (row >= n) return;
    for (int column = 0; column <= row; ++column) matrix[row * n + column] = 0;
}

EVERY_KERNEL void row_sums(P<const float> matrix, P<float> sums, int rows, int columns) {
    int row = INDEX_X;
    if (row >= rows) return;
    float sum = 0;
    for (int column = 0; column < columns; ++column) sum += matrix[row * columns + column];
    sums[row] = sum;
}

EVERY_KERNEL void product(P<const float> a, P<const float> b, P<float> c, int m, int n, int k) {
    int row = INDEX_Y, column = INDEX_X;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int at = 0; at < k; ++at) sum += a[row * k + at] * b[at * n + column];
    c[row * n + column] = sum;
}

EVERY_KERNEL void gathered(P<const float> in, P<const int> index, P<float> out, int n) {
    int i = INDEX_X;
    if (i < n) out[i] = in[index[i]];
}

EVERY_KERNEL void guarded_index(P<const int> index, P<float> out, int n, int m) {
    int i = INDEX_X;
    if (i >= n) return;
    int at = index[i];
    if (at >= 2 && at < m) out[at] = 1;
}

EVERY_KERNEL void histogram(P<const unsigned char> in, P<int> bins, int n) {
    int i = INDEX_X;
    if (i < n) atomicAdd(bins + in[i], 1);
}

EVERY_KERNEL void divided(P<const float> x, P<float> y, float by, int n) {
    int i = INDEX_X;
    if (i < n) y[i] = x[i] / by;
}

EVERY_KERNEL void unless_flag(P<const int> flag, P<float> p, int n) {
    if (flag[0]) return;
    int i = INDEX_X;
    if (i < n) p[i] = 1;
}

EVERY_KERNEL void where_mask(P<const unsigned char> mask, P<float> p, int n) {
    int i = INDEX_X;
    if (i < n && mask[i]) p[i] = 1;
}

EVERY_KERNEL void either_value(P<const float> x, P<float> p, int n) {
    int i = INDEX_X;
    if (i >= n) return;
    float v = x[i];
    if (v > 2)
        p[i] = v * v;
    else
        p[i] = -v;
}

template <int N>
static
#ifdef __CUDACC__
    __device__ __forceinline__
#endif
    void unrolled(P<const float> in, P<float> out, int n) {
    int first = (blockIdx.x * blockDim.x * N) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < N; ++k) {
        int i = first + k * blockDim.x;
        if (i < n) out[i] = in[i];
    }
}

EVERY_KERNEL void unrolled_four(P<const float> in, P<float> out, int n) { unrolled<4>(in, out, n); }

EVERY_KERNEL void each_four(P<const float> in, P<float> out, int n) {
    int first = INDEX_X * 4;
    for (int i = first; i < first + 4 && i < n; ++i) out[i] = in[i];
}

EVERY_KERNEL void before_pointer(P<float> p, int n) {
    int i = INDEX_X;
    if (i < n) p[-1 - i] = 1;
}

EVERY_KERNEL void wide_offset(P<float> p, long long offset, int n) {
    int i = INDEX_X;
    if (i < n) p[offset + i] = 1;
}

EVERY_KERNEL void quotients(P<float> p, P<float> q, int n, int w, int pitch) {
    int i = INDEX_X;
    if (i >= n) return;
    int y = i / w, x = i - y * w;
    p[y * pitch + x] = 1;
    q[i / 7] = 2;
}

EVERY_KERNEL void quotient_wide(P<float> p, long long n, long long w, long long pitch) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i / w * pitch + i % w] = 1;
}

EVERY_KERNEL void powers(P<const float> in, P<float> out, int n) {
    int i = INDEX_X, warp = i / 32, lane = i % 32;
    if (i < n) out[warp * 64 + (lane ^ 5)] = in[(warp << 5) | lane];
}

EVERY_KERNEL void swizzled(P<float> p) {
    int t = threadIdx.x, row = t >> 3, column = (t & 7) ^ (row & 7);
    p[blockIdx.x * 256 + row * 8 + column] = 1;
}

EVERY_KERNEL void one_thread(P<int> count, P<int> flags) {
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) {
        count[0] = 0;
        flags[blockIdx.x] = 1;
    }
}

EVERY_KERNEL void clamped(P<const float> in, P<float> out, int n) {
    int i = INDEX_X;
    if (i >= n) return;
    int left = max(i - 2, 0), right = min(i + 2, n - 1);
    out[i] = in[left] + in[right];
}

EVERY_KERNEL void chosen_pointer(P<float> a, P<float> b, int which, int n) {
    P<float> p = which ? a : b;
    int i = INDEX_X;
    if (i < n) p[i] = 1;
}

EVERY_KERNEL void steps(P<float> a, P<float> b, int n, int count) {
    int i = INDEX_X;
    if (i >= n) return;
    for (int step = 0; step < count; ++step) {
        b[i] = a[n - 1 - i] + 1;
        P<float> other = a;
        a = b;
        b = other;
    }
}

EVERY_KERNEL void until_data(P<const int> next, P<int> found, int n) {
    int i = INDEX_X;
    if (i >= n) return;
    int at = i, count = 0;
    while (count < 100 && next[at] > 3) {
        at = next[at];
        ++count;
    }
    found[i] = count;
}

EVERY_KERNEL void sparse(P<const int> begins, P<const float> values, P<float> sums, int rows) {
    int row = INDEX_X;
    if (row >= rows) return;
    float sum = 0;
    for (int at = begins[row]; at < begins[row + 1]; ++at) sum += values[at];
    sums[row] = sum;
}

EVERY_KERNEL void backwards(P<float> p, int n) {
    for (int i = n - 1 - INDEX_X; i >= 0; i -= gridDim.x * blockDim.x) p[i] = 0;
}

EVERY_KERNEL void planes(P<float> p, int w, int h, int d, int pitch, int slice) {
    int x = INDEX_X, y = INDEX_Y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < w && y < h && z < d) p[z * slice + y * pitch + x] = 0;
}

EVERY_KERNEL void flat_block(P<float> p, int n) {
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    int i = block * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 0;
}

EVERY_KERNEL void scaled_atomics(P<unsigned long long> counts, P<double> sums, int n) {
    int i = INDEX_X;
    if (i < n) {
        atomicAdd(counts + i % 4, 1ULL);
        atomicAdd(sums + i, 1.0);
    }
}

EVERY_KERNEL void last_column(P<float> p, int rows, int columns) {
    for (int row = threadIdx.y; row < rows; row += blockDim.y)
        for (int column = threadIdx.x; column < columns; column += blockDim.x) p[row * columns + column] = 1;
}

struct Set {
    P<const float> in;
    P<float> out;
};

struct Sets {
    Set of[2];
    int n, unused;
};

// The array is copied to the thread's own memory, and chosen there.
EVERY_KERNEL void chosen_set(Sets sets, int from, int to) {
    int i = INDEX_X;
    if (i < sets.n) {
        sets.of[to].out[i] = sets.of[from].in[i];
        sets.of[to].out[i + sets.n] = sets.of[from].in[i + 1];
    }
}

struct Batch {
    P<float> items[4];
    int sizes[4];
};

EVERY_KERNEL void item_of_block(const GRID_CONSTANT Batch batch) {
    int b = blockIdx.y, i = INDEX_X;
    if (i < batch.sizes[b]) batch.items[b][i] = 1;
}

EVERY_KERNEL void every_item(const GRID_CONSTANT Batch batch, int count) {
    for (int b = 0; b < count; ++b)
        if (INDEX_X < batch.sizes[b]) batch.items[b][INDEX_X] = 1;
}

EVERY_KERNEL void item_of_thread(const GRID_CONSTANT Batch batch, P<float> sums, int n) {
    int b = threadIdx.x & 3;
    if (INDEX_X < n) sums[batch.sizes[b] + INDEX_X] = batch.items[b][blockIdx.x];
}
