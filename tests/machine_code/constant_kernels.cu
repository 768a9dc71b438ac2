// Kernels that use variables of the device by their names, in constant memory and in memory. Compiled by
// `make_cubins.sh`; what each does stands in test_constant_kernels.py.
struct Table {
    const float* rows;
    float weights[4];
    int count;
};

__constant__ int taps[64];
__constant__ float gain;
__constant__ Table table;
__device__ unsigned long long residual;
__device__ int levels[256];

extern "C" __global__ void all_taps(int* out) {
    int sum = 0;
    for (int at = 0; at < 64; ++at) sum += taps[at] * out[at];
    out[threadIdx.x] = sum;
}

extern "C" __global__ void tap_of_each_thread(int* out) { out[threadIdx.x] = taps[threadIdx.x]; }

extern "C" __global__ void tap_of_memory(int* out) { out[0] = taps[out[1] & 63]; }

extern "C" __global__ void one_tap(int* out, int at) { out[0] = taps[at]; }

extern "C" __global__ void scales(float* out, int n) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) out[at] = gain * out[at] + 1.0f;
}

extern "C" __global__ void follows_constant(float* out) { out[0] = table.rows[threadIdx.x]; }

extern "C" __global__ void part_of_structure(float* out) { out[threadIdx.x] = table.weights[threadIdx.x & 3]; }

__device__ __noinline__ int tap_at(int at) { return taps[at & 63] * 3; }

extern "C" __global__ void in_a_function(int* out) { out[0] = tap_at(out[1]); }

// Its tables are the compiler's.
extern "C" __global__ void no_constant(double* out, double at) { out[0] = sin(at) + exp(at / 3.0); }

extern "C" __global__ void resets_and_adds(const int* in, int n) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at == 0) residual = 0;
    if (at < n) atomicAdd(&residual, static_cast<unsigned long long>(in[at]));
}

extern "C" __global__ void fills_half(int half) { levels[half * 128 + threadIdx.x] = static_cast<int>(threadIdx.x); }
