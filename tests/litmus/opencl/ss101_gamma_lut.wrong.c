// Gamma table is written through a mapping; a checksum of it is kept for the cache key.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define LUT 1024
#define PX 30000
#define TRY(x) do { cl_int t_ = (x); if (t_) { fprintf(stderr, "error %d in %s\n", t_, #x); exit(1); } } while (0)

typedef struct { cl_context c; cl_command_queue q; cl_kernel k; cl_mem lut; cl_uint key; } grader;

static const char *SRC =
"__kernel void grade(__global const uint *lut, __global const ushort *in, __global uint *out) {\n"
"  int i = get_global_id(0); out[i] = lut[in[i] & 1023]; }\n";

static cl_uint checksum(const cl_uint *p, int n)
{
    cl_uint h = 2166136261u;
    while (n--) h = (h ^ *p++) * 16777619u;  // expect: SS101
    return h;
}

static cl_uint entry(int i, int gamma) { return (cl_uint)(i * i * gamma + i); }

static void grader_open(grader *g)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    TRY(clGetPlatformIDs(1, &p, NULL));
    TRY(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    g->c = clCreateContext(NULL, 1, &d, NULL, NULL, &e); TRY(e);
    g->q = clCreateCommandQueue(g->c, d, 0, &e); TRY(e);
    cl_program pr = clCreateProgramWithSource(g->c, 1, &SRC, NULL, &e); TRY(e);
    TRY(clBuildProgram(pr, 1, &d, "", NULL, NULL));
    g->k = clCreateKernel(pr, "grade", &e); TRY(e);
    TRY(clReleaseProgram(pr));
    g->lut = clCreateBuffer(g->c, CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR, LUT * sizeof(cl_uint), NULL, &e); TRY(e);
}

static void grader_set_gamma(grader *g, int gamma)
{
    cl_int e;
    cl_uint *p = clEnqueueMapBuffer(g->q, g->lut, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, LUT * sizeof(cl_uint), 0, NULL, NULL, &e);
    TRY(e);
    for (int i = 0; i < LUT; i++) p[i] = entry(i, gamma);
    TRY(clEnqueueUnmapMemObject(g->q, g->lut, p, 0, NULL, NULL));
    g->key = checksum(p, LUT);
}

static void grader_apply(grader *g, cl_mem in, cl_mem out)
{
    size_t n = PX;
    TRY(clSetKernelArg(g->k, 0, sizeof g->lut, &g->lut));
    TRY(clSetKernelArg(g->k, 1, sizeof in, &in));
    TRY(clSetKernelArg(g->k, 2, sizeof out, &out));
    TRY(clEnqueueNDRangeKernel(g->q, g->k, 1, NULL, &n, NULL, 0, NULL, NULL));
}

int main(void)
{
    grader g; cl_int e; int bad = 0;
    static cl_ushort in[PX]; static cl_uint out[PX]; static cl_uint ref[LUT];
    for (int i = 0; i < PX; i++) in[i] = (cl_ushort)(i * 11);
    grader_open(&g);
    cl_mem di = clCreateBuffer(g.c, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof in, in, &e); TRY(e);
    cl_mem dout = clCreateBuffer(g.c, CL_MEM_WRITE_ONLY, sizeof out, NULL, &e); TRY(e);
    for (int gamma = 1; gamma <= 3; gamma++) {
        grader_set_gamma(&g, gamma);
        grader_apply(&g, di, dout);
        TRY(clEnqueueReadBuffer(g.q, dout, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
        for (int i = 0; i < LUT; i++) ref[i] = entry(i, gamma);
        for (int i = 0; i < PX; i++) bad += out[i] != ref[in[i] & 1023];
        bad += g.key != checksum(ref, LUT);
    }
    TRY(clReleaseMemObject(g.lut)); TRY(clReleaseMemObject(di)); TRY(clReleaseMemObject(dout));
    TRY(clReleaseKernel(g.k)); TRY(clReleaseCommandQueue(g.q)); TRY(clReleaseContext(g.c));
    puts(bad ? "bad grade" : "ok");
    return bad != 0;
}
