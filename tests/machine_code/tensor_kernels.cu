// Kernels that copy by tensor maps: parameters, members of structures, one of two, and maps that lie elsewhere.
#include <cstdint>

struct alignas(64) Map {
    uint64_t address;
    uint64_t words[15];
};

struct Problem {
    int rows;
    int* counter;
    Map in;
    Map out;
};

__device__ unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

__device__ void load(void* to, const Map& map, uint64_t* barrier, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(to)), "l"(&map), "r"(shared_address(barrier)), "r"(x), "r"(y)
                 : "memory");
}

__device__ void store(const Map& map, const void* from, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
                 "r"(shared_address(from)), "r"(x), "r"(y)
                 : "memory");
}

__device__ void add(const Map& map, const void* from, int x, int y) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
                 "r"(shared_address(from)), "r"(x), "r"(y)
                 : "memory");
}

extern "C" __global__ void loads(const __grid_constant__ Map in, float* out, int n) {
    __shared__ alignas(128) float tile[32 * 32];
    __shared__ uint64_t barrier;
    load(tile, in, &barrier, blockIdx.x, 0);
    __syncthreads();
    if (threadIdx.x < n) out[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void copies(const __grid_constant__ Map in, const __grid_constant__ Map out, int tiles) {
    __shared__ alignas(128) float tile[32 * 32];
    __shared__ uint64_t barrier;
    for (int at = blockIdx.x; at < tiles; at += gridDim.x) {
        load(tile, in, &barrier, at, 0);
        __syncthreads();
        store(out, tile, at, 0);
    }
}

extern "C" __global__ void solves(const __grid_constant__ Problem problem, const __grid_constant__ Map sums) {
    __shared__ alignas(128) float tile[32 * 32];
    __shared__ uint64_t barrier;
    for (int row = 0; row < problem.rows; ++row) {
        load(tile, problem.in, &barrier, 0, row);
        __syncthreads();
        store(problem.out, tile, 0, row);
        add(sums, tile, 0, row);
    }
    if (threadIdx.x == 0) atomicAdd(problem.counter, 1);
}

extern "C" __global__ void chooses(const __grid_constant__ Map one, const __grid_constant__ Map other, int which) {
    __shared__ alignas(128) float tile[32 * 32];
    __shared__ uint64_t barrier;
    load(tile, which ? one : other, &barrier, 0, 0);
}

extern "C" __global__ void follows(const Map* maps, float* out) {
    __shared__ alignas(128) float tile[32 * 32];
    __shared__ uint64_t barrier;
    load(tile, maps[blockIdx.x], &barrier, 0, 0);
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

struct Several {
    Map maps[4];
};

extern "C" __global__ void counts(const __grid_constant__ Several several, int n) {
    __shared__ alignas(128) float tile[32 * 32];
    __shared__ uint64_t barrier;
    load(tile, several.maps[blockIdx.x & 3], &barrier, 0, n);
}
