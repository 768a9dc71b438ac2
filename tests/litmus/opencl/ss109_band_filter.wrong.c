/* Large signal split into bands; every band is filtered in place by a queue of its own. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define QUEUES 2
#define SIGNAL 65536
#define BYTES (SIGNAL * sizeof(cl_int))
#define HALO 256
#define CLE(x) do { cl_int e_ = (x); if (e_) { fprintf(stderr, "%s failed, %d (line %d)\n", #x, e_, __LINE__); exit(1); } } while (0)

static const char *text =
"__kernel void smooth(__global int *v, int passes) {\n"
"  int i = get_global_id(0), x = v[i];\n"
"  for (int p = 0; p < passes; p++) x = x - (x >> 3) + p;\n"
"  v[i] = x; }\n";

struct band { cl_command_queue q; cl_kernel k; cl_mem part; size_t count; };

static cl_context ctx;
static cl_device_id dev;
static cl_program prog;

static void init(void)
{
    cl_platform_id p; cl_int e;
    CLE(clGetPlatformIDs(1, &p, NULL));
    CLE(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &dev, NULL));
    ctx = clCreateContext(NULL, 1, &dev, NULL, NULL, &e); CLE(e);
    prog = clCreateProgramWithSource(ctx, 1, &text, NULL, &e); CLE(e);
    CLE(clBuildProgram(prog, 1, &dev, "", NULL, NULL));
}

static cl_mem slice(cl_mem whole, int index)
{
    cl_buffer_region r;
    cl_mem sub; cl_int e;
    r.origin = index * (BYTES / QUEUES);
    r.size = BYTES / QUEUES + (index + 1 < QUEUES ? HALO * sizeof(cl_int) : 0);
    sub = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &r, &e); CLE(e);
    return sub;
}

static void band_open(struct band *b, cl_mem whole, int index)
{
    cl_int e; size_t bytes;
    b->q = clCreateCommandQueue(ctx, dev, 0, &e); CLE(e);
    b->k = clCreateKernel(prog, "smooth", &e); CLE(e);
    b->part = slice(whole, index);
    CLE(clGetMemObjectInfo(b->part, CL_MEM_SIZE, sizeof bytes, &bytes, NULL));
    b->count = bytes / sizeof(cl_int);
}

static void band_filter(struct band *b, cl_int passes)
{
    CLE(clSetKernelArg(b->k, 0, sizeof b->part, &b->part));
    CLE(clSetKernelArg(b->k, 1, sizeof passes, &passes));
    CLE(clEnqueueNDRangeKernel(b->q, b->k, 1, NULL, &b->count, NULL, 0, NULL, NULL));  // expect: SS109
    CLE(clFlush(b->q));
}

static void band_close(struct band *b)
{
    CLE(clReleaseMemObject(b->part));
    CLE(clReleaseKernel(b->k));
    CLE(clReleaseCommandQueue(b->q));
}

int main(void)
{
    static cl_int in[SIGNAL], out[SIGNAL];
    struct band b[QUEUES];
    cl_int e, bad = 0;
    for (int i = 0; i < SIGNAL; i++) in[i] = i * 37 % 100003;
    init();
    cl_mem whole = clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, in, &e); CLE(e);
    for (int i = 0; i < QUEUES; i++) band_open(&b[i], whole, i);
    CLE(clReleaseMemObject(whole));
    for (int i = 0; i < QUEUES; i++) band_filter(&b[i], 12);
    for (int i = 0; i < QUEUES; i++) {
        size_t n = BYTES / QUEUES;
        CLE(clEnqueueReadBuffer(b[i].q, b[i].part, CL_TRUE, 0, n, out + i * (SIGNAL / QUEUES), 0, NULL, NULL));
    }
    for (int i = 0; i < QUEUES; i++) band_close(&b[i]);
    for (int i = 0; i < SIGNAL; i++) {
        int x = in[i];
        for (int p = 0; p < 12; p++) x = x - (x >> 3) + p;
        bad += x != out[i];
    }
    CLE(clReleaseProgram(prog)); CLE(clReleaseContext(ctx));
    puts(bad ? "filtered wrong" : "ok");
    return bad != 0;
}
