// The kernels of kernels.O0.spv and kernels.O2.spv. Made anew with clang and llvm-spirv 14:
//   for level in O0 O2; do
//     clang -target spir64-unknown-unknown -$level -cl-std=CL2.0 -Xclang -finclude-default-header -emit-llvm -c -o - kernels.cl |
//       llvm-spirv -o kernels.$level.spv; done
__kernel void add(__global float *data, float value) { data[get_global_id(0)] += value; }
__kernel void sum(__global const float *from, __global float *to, int n) {
    int i = get_global_id(0);
    if (i < n) to[i] += from[i];
}
__kernel void copy_vectors(__global const float *from, __global float *to) {
    vstore4(vload4(get_global_id(0), from), get_global_id(0), to);
}
__kernel void histogram(__global const int *keys, volatile __global int *bins, __local int *group) {
    group[get_local_id(0)] = keys[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[group[get_local_id(0)]], 1);
}
static void __attribute__((noinline)) store(__global int *where, int what) { *where = what; }
__kernel void choose(__global int *one, __global int *other, int which) {
    __global int *there = which ? one : other;
    store(there + 1, 3);
}
__kernel void only_compares(__global int *never, __global int *out) { out[get_global_id(0)] = never != 0; }
__kernel void keeps_an_address(__global int *kept, __global ulong *out) { out[0] = (ulong)kept; }
__kernel void draws(read_only image2d_t from, write_only image2d_t to, sampler_t sampler) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, at, read_imagef(from, sampler, at));
}
__kernel void angles(__global float *angle, __global float *cosine) {
    angle[get_global_id(0)] = sincos(angle[get_global_id(0)], cosine + get_global_id(0));
}
static float __attribute__((noinline)) first_of(const float *any) { return *any; }
__kernel void of_any_space(__global float *from, __global float *to, __local float *group) {
    group[get_local_id(0)] = from[get_global_id(0)];
    to[get_global_id(0)] = first_of(from) + first_of(group);
}
typedef struct {
    __global float *at;
    int count;
} View;
__kernel void by_a_structure(__global float *from, __global float *to, int count) {
    View views[2] = {{from, count}, {to, count}};
    if (get_global_id(0) < (size_t)views[1].count) views[1].at[get_global_id(0)] = views[0].at[get_global_id(0)];
}
__kernel void follows(__global ulong *addresses) {
    ((__global int *)addresses[get_global_id(0)])[0] = 1;
}
__kernel void waits_for_a_flag(volatile __global int *flag, __global int *out) {
    while (flag[0] == 0) {
    }
    out[get_global_id(0)] = 1;
}
__kernel void tells_all(volatile __global atomic_int *flag) {
    atomic_store_explicit(flag, 1, memory_order_release, memory_scope_all_svm_devices);
}
__kernel void row(__global float *out, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    out[y * width + x] = 1;
}
__kernel void behind_the_first(__global float *out) { out[get_global_id(0) + 1] = 1; }
__kernel void one_or_the_other(__global float *out, __global float *much, int n) {
    if ((int)get_global_id(0) < n) out[0] = 1;
    else much[0] = 1;
}
