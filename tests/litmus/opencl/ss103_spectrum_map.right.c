// Power spectrum bands (Goertzel-like, integer); results are inspected through an asynchronous map.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define BANDS 64
#define LEN 8192
#define HOPS 5

static void fail(const char *f, cl_int e) { fprintf(stderr, "%s: error %d\n", f, e); exit(1); }
#define A(f, ...) do { cl_int e_ = f(__VA_ARGS__); if (e_) fail(#f, e_); } while (0)

static const char *src =
"__kernel void bands(__global const short *x, int n, __global int *p) {\n"
"  int b = get_global_id(0), s = 0;\n"
"  for (int i = 0; i < n; i++) s += ((i * (b + 1)) & 64) ? x[i] : -x[i];\n"
"  p[b] = abs(s); }\n";

typedef struct { cl_context ctx; cl_command_queue q; cl_kernel k; cl_mem x, p; } meter;

static void meter_open(meter *m)
{
    cl_platform_id pf; cl_device_id d; cl_int e, n = LEN;
    A(clGetPlatformIDs, 1, &pf, NULL);
    A(clGetDeviceIDs, pf, CL_DEVICE_TYPE_ALL, 1, &d, NULL);
    m->ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); if (e) fail("clCreateContext", e);
    m->q = clCreateCommandQueue(m->ctx, d, 0, &e); if (e) fail("clCreateCommandQueue", e);
    cl_program pr = clCreateProgramWithSource(m->ctx, 1, &src, NULL, &e); if (e) fail("program", e);
    A(clBuildProgram, pr, 1, &d, "", NULL, NULL);
    m->k = clCreateKernel(pr, "bands", &e); if (e) fail("clCreateKernel", e);
    A(clReleaseProgram, pr);
    m->x = clCreateBuffer(m->ctx, CL_MEM_READ_ONLY, LEN * sizeof(cl_short), NULL, &e); if (e) fail("x", e);
    m->p = clCreateBuffer(m->ctx, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, BANDS * sizeof(cl_int), NULL, &e); if (e) fail("p", e);
    A(clSetKernelArg, m->k, 0, sizeof m->x, &m->x);
    A(clSetKernelArg, m->k, 1, sizeof n, &n);
    A(clSetKernelArg, m->k, 2, sizeof m->p, &m->p);
}

static int loudest(const cl_int *p)
{
    int best = 0;
    for (int b = 1; b < BANDS; b++) if (p[b] > p[best]) best = b;
    return best;
}

static int meter_hop(meter *m, const cl_short *x)
{
    size_t g = BANDS; cl_event mapped; cl_int e; int band;
    A(clEnqueueWriteBuffer, m->q, m->x, CL_FALSE, 0, LEN * sizeof *x, x, 0, NULL, NULL);
    A(clEnqueueNDRangeKernel, m->q, m->k, 1, NULL, &g, NULL, 0, NULL, NULL);
    cl_int *p = clEnqueueMapBuffer(m->q, m->p, CL_FALSE, CL_MAP_READ, 0, BANDS * sizeof(cl_int), 0, NULL, &mapped, &e);
    if (e) fail("clEnqueueMapBuffer", e);
    A(clFlush, m->q);
    A(clWaitForEvents, 1, &mapped);
    band = loudest(p);
    A(clReleaseEvent, mapped);
    A(clEnqueueUnmapMemObject, m->q, m->p, p, 0, NULL, NULL);
    return band;
}

static int reference(const cl_short *x)
{
    cl_int p[BANDS];
    for (int b = 0; b < BANDS; b++) {
        int s = 0;
        for (int i = 0; i < LEN; i++) s += ((i * (b + 1)) & 64) ? x[i] : -x[i];
        p[b] = abs(s);
    }
    return loudest(p);
}

int main(void)
{
    meter m;
    static cl_short x[HOPS][LEN];
    int bad = 0;
    for (int h = 0; h < HOPS; h++)
        for (int i = 0; i < LEN; i++)
            x[h][i] = (cl_short)((((i * (h * 9 + 4)) & 64) ? 900 : -900) + (i * 31 % 211));
    meter_open(&m);
    for (int h = 0; h < HOPS; h++) bad += meter_hop(&m, x[h]) != reference(x[h]);
    A(clFinish, m.q);
    clReleaseMemObject(m.x); clReleaseMemObject(m.p); clReleaseKernel(m.k);
    clReleaseCommandQueue(m.q); clReleaseContext(m.ctx);
    puts(bad ? "wrong band" : "ok");
    return bad;
}
