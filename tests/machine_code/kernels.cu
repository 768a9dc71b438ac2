// Kernels whose machine code the tests read. Compiled by `make_cubins.sh`; what each does stands in test_kernel_accesses.py.
#include <cstdio>

struct View {
    const float* in;
    float* out;
    int n;
};

template <int N>
struct Table {
    float* rows[N];
    int sizes[N];
};

__device__ float* stored_pointer;
__device__ int counter;

extern "C" {

__global__ void axpy(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

__global__ void fields(View view, int* count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < view.n) view.out[i] = view.in[i];
    if (i == 0) atomicAdd(count, 1);
}

__global__ void only_compared(float* p, float* q, int* same) {
    if (threadIdx.x == 0) *same = p == q;
}

__global__ void pointers_in_memory(float** rows, int n) {
    for (int r = 0; r < n; ++r) rows[r][threadIdx.x] = 0;
}

__global__ void keeps_pointer(float* p) { stored_pointer = p; }

__global__ void uses_kept_pointer(float value) { stored_pointer[threadIdx.x] = value; }

__global__ void counts() { atomicAdd(&counter, 1); }

__global__ void chosen_row(Table<8> table, int which, float value) {
    float* row = table.rows[which];
    if (threadIdx.x < table.sizes[which]) row[threadIdx.x] = value;
}

__global__ void gathered(float* out, const float* in, const int* index, const long long* wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[wide[i]] = in[index[i]];
}

__global__ void histogram(int* bins, const unsigned char* data, size_t n) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        atomicAdd(bins + data[i], 1);
}

__global__ void through_shared(float* out, const float* in) {
    __shared__ float tile[256];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void pointer_in_shared(float* a, float* b, int which) {
    __shared__ float* chosen;
    if (threadIdx.x == 0) chosen = which ? a : b;
    __syncthreads();
    chosen[threadIdx.x] = 1;
}

__global__ void swaps(float* a, float* b, int steps) {
    for (int step = 0; step < steps; ++step) {
        b[threadIdx.x] = a[threadIdx.x] + 1;
        float* next = a;
        a = b;
        b = next;
        __syncthreads();
    }
}

__global__ void prints(const int* p) { printf("%d\n", p[threadIdx.x]); }

__device__ __noinline__ void store(float* p, float value) { *p = value; }
__device__ __noinline__ float load(const float* p) { return *p * 2; }

__global__ void calls(float* out, const float* in) { store(out + threadIdx.x, load(in + threadIdx.x)); }

typedef void (*Operation)(float*, float);
__device__ Operation operation = store;
__global__ void calls_anything(float* p, float* q) { operation(p, 1.0f); q[0] = 2; }

__global__ void copies_structures(float4* out, const float4* in, const double2* more, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 value = in[i];
    double2 other = more[i];
    value.x += (float)other.y;
    out[i] = value;
}

__global__ void switches(float* a, float* b, float* c, const float* d, int which) {
    switch (which) {
        case 0: a[0] = d[0]; break;
        case 1: a[1] = d[1] * 2; break;
        case 2: b[2] = d[2] * 3; break;
        case 3: b[3] = d[3] + 4; break;
        case 4: a[4] = d[4] - 5; break;
        case 5: b[5] = d[5] / 6; break;
        case 6: a[6] = d[6] * d[7]; break;
        default: atomicExch(c, 1.0f);
    }
}

__global__ void local_array(float* a, float* b, float* c, int i) {
    float* all[3] = {a, b, c};
    all[i][threadIdx.x] = 1;
}

}  // extern "C"

/// The body of a conditional node decides whether it runs again.
extern "C" __global__ void repeats(float* p, cudaGraphConditionalHandle again) {
    p[threadIdx.x] *= 0.5f;
    if (threadIdx.x == 0) cudaGraphSetConditional(again, p[0] > 1.0f);
}
