/* 1-D heat equation on application memory (CL_MEM_USE_HOST_PTR); sources are edited through maps. */
#define CL_TARGET_OPENCL_VERSION 120
#define _POSIX_C_SOURCE 200112L
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 4096
#define BYTES (N * sizeof(cl_int))
#define ROUNDS 5
#define CLX(x) do { cl_int e_ = (x); if (e_ < 0) { fprintf(stderr, "%s: %d\n", #x, e_); exit(1); } } while (0)

struct rod { cl_context ctx; cl_command_queue q; cl_kernel k; cl_int *cells; cl_mem a, b; };

static const char *text =
"__kernel void diffuse(__global const int *a, __global int *b) {\n"
"  int i = get_global_id(0), n = get_global_size(0);\n"
"  int l = i ? a[i - 1] : 0, r = i < n - 1 ? a[i + 1] : 0;\n"
"  b[i] = a[i] + (l + r - 2 * a[i]) / 4; }\n";

static void rod_open(struct rod *r)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    CLX(clGetPlatformIDs(1, &p, NULL));
    CLX(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    r->ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); CLX(e);
    r->q = clCreateCommandQueue(r->ctx, d, 0, &e); CLX(e);
    cl_program pr = clCreateProgramWithSource(r->ctx, 1, &text, NULL, &e); CLX(e);
    CLX(clBuildProgram(pr, 1, &d, NULL, NULL, NULL));
    r->k = clCreateKernel(pr, "diffuse", &e); CLX(e);
    clReleaseProgram(pr);
    if (posix_memalign((void **)&r->cells, 4096, BYTES)) exit(1);
    memset(r->cells, 0, BYTES);
    r->a = clCreateBuffer(r->ctx, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, r->cells, &e); CLX(e);
    r->b = clCreateBuffer(r->ctx, CL_MEM_READ_WRITE, BYTES, NULL, &e); CLX(e);
    CLX(clSetKernelArg(r->k, 0, sizeof r->a, &r->a));
    CLX(clSetKernelArg(r->k, 1, sizeof r->b, &r->b));
}

static void heat_and_step(struct rod *r, int round)
{
    size_t n = N; cl_int e;
    cl_int *m = clEnqueueMapBuffer(r->q, r->a, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &e); CLX(e);
    for (int i = round; i < N; i += 97) m[i] += 1000 + round;
    CLX(clEnqueueUnmapMemObject(r->q, r->a, m, 0, NULL, NULL));
    CLX(clEnqueueNDRangeKernel(r->q, r->k, 1, NULL, &n, NULL, 0, NULL, NULL));
    CLX(clEnqueueCopyBuffer(r->q, r->b, r->a, 0, 0, BYTES, 0, NULL, NULL));
}

static void rod_close(struct rod *r)
{
    CLX(clFinish(r->q));
    CLX(clReleaseMemObject(r->a)); CLX(clReleaseMemObject(r->b));
    CLX(clReleaseKernel(r->k)); CLX(clReleaseCommandQueue(r->q)); CLX(clReleaseContext(r->ctx));
    free(r->cells);
}

int main(void)
{
    struct rod r; cl_int e; int bad;
    static cl_int x[N], y[N];
    rod_open(&r);
    for (int s = 0; s < ROUNDS; s++) heat_and_step(&r, s);
    for (int s = 0; s < ROUNDS; s++) {
        for (int i = s; i < N; i += 97) x[i] += 1000 + s;
        for (int i = 0; i < N; i++) {
            int l = i ? x[i - 1] : 0, q = i < N - 1 ? x[i + 1] : 0;
            y[i] = x[i] + (l + q - 2 * x[i]) / 4;
        }
        memcpy(x, y, sizeof x);
    }
    cl_int *m = clEnqueueMapBuffer(r.q, r.a, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &e); CLX(e);
    bad = memcmp(m, x, BYTES) != 0;
    CLX(clEnqueueUnmapMemObject(r.q, r.a, m, 0, NULL, NULL));
    rod_close(&r);
    puts(bad ? "temperature wrong" : "ok");
    return bad;
}
