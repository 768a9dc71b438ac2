// The kernels of test_work_item_ranges.py. Those of ranges.O0.spv and ranges.O2.spv are made anew with clang and llvm-spirv 14:
//   for level in O0 O2; do
//     clang -target spir64-unknown-unknown -$level -cl-std=CL2.0 -Xclang -finclude-default-header -emit-llvm -c -o - ranges.cl |
//       llvm-spirv -o ranges.$level.spv; done
#define N 64
#define AT(p, i) ((p)[(i) + 1])
int next(global const int *p, int at) { return p[at + 1]; }
kernel void plain(global const int *a, global float *b) { size_t i = get_global_id(0); b[i] = a[i] + a[i + 2]; }
kernel void member(global const int *a, global float4 *b) { b[get_global_id(0)].x = a[0]; }
kernel void guarded(global int *a, int n) { int i = get_global_id(0); if (i >= n) return; a[i] *= 2; }
kernel void nested(global int *a, int n) { int i = get_global_id(0); if (i < n && i != 0) { a[i] = 1; } }
kernel void clamped(global const int *u, global int *o) {
    int i = get_global_id(0), l = max(i - 1, 0), r = min(i + 1, N - 1);
    o[i] = u[l] + u[r] + u[i];
}
kernel void edges(global const int *u, global int *o) {
    int i = get_global_id(0), n = get_global_size(0);
    int l = i ? u[i - 1] : 0;
    o[i] = l + (i < n - 1 ? u[i + 1] : 0);
}
kernel void rows(global uchar *o, int w) { int x = get_global_id(0), y = get_global_id(1); o[y * w + x] = 1; }
kernel void loop(global const int *v, global int *r, int n, int slot) {
    int s = 0;
    for (int i = 0; i < n; i++) s += v[i];
    r[slot] = s;
}
kernel void maybe(global const int *m, global int *r) { int i = get_global_id(0); if (m[i]) r[i] = 1; }
kernel void scatter(global const int *m, global int *r) { r[m[get_global_id(0)]] = 1; }
kernel void called(global const int *m, global int *r) { int i = get_global_id(0); r[i] = next(m, i) + AT(m, i); }
kernel void broken(global const int *m, global int *r) {
    for (int i = 0; i < 8; i++) { if (m[i]) break; r[i] = 1; }
    r[9] = 2;
}
kernel void even(global int *r) { int i = get_global_id(0); r[2 * i] = 1; }
kernel void cut_late(global int *b, int n) {
    int i = get_global_id(0), l = max(i - 1, 0);
    if (i < n) { b[l] = 1; }
}
kernel void count(global const uchar *a, global int *b) { atomic_inc(&b[a[get_global_id(0)]]); }
kernel void grouped(global const int *a, global int *b) {
    int g = get_group_id(0), l = get_local_id(0);
    b[g] = a[g * get_local_size(0) + l];
}
kernel void turns(global int *b, int n) {
    int i = get_global_id(0);
    while (i < n) { b[i] = 1; i += get_global_size(0); }
}
kernel void moved(global int *b, int n) {
    global int *p = b + get_global_id(0) * 4;
    p[0] = 1; p[3] = 2; p += n; *p = 3;
}
kernel void masked(global int *b, int n) { b[get_global_id(0) & 7] = n; b[get_global_id(0) % 5] = 1; }
kernel void mirrored(global int *b, int n) { b[n - 1 - get_global_id(0)] = 1; }
kernel void same(global int *b, int n) { int i = get_global_id(0); b[max(i - 1, 0) + i] = 1; }
kernel void cast_away(global int *b, int n) { global char *p = (global char *)b; p[n] = 1; b[0] = 2; }
kernel void overwritten(global int *b, int n) { int i = get_global_id(0); if (n > i) i = b[i]; b[i] = 1; }

kernel void first_found(global const int *m, global int *r) {
    int i = 0;
    while (m[i] != 0) i++;
    r[0] = i;
}
kernel void either_way(global int *a, int n) {
    int i = get_global_id(0);
    if (n > 3) a[i] = 1; else a[i + 64] = 2;
}
kernel void by_threes(global int *a, int n) { for (int k = 0; k < n; k += 3) a[k] = (int)get_global_id(0); }
kernel void chosen(global int *a, global int *b, int n) { global int *p = n & 1 ? a : b; p[get_global_id(0)] = n; }
