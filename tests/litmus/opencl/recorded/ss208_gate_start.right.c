/* Monte-Carlo batch: everything is queued behind a start gate, then the gate opens. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH 4
#define PATHS 4096
#define RUN(x) do { cl_int e_ = (x); if (e_) { fprintf(stderr, "line %d: %d\n", __LINE__, e_); exit(1); } } while (0)

static const char *mc_src =
"__kernel void paths(__global const int *drift, __global int *out) {\n"
"  uint i = get_global_id(0), r = i * 747796405u + 2891336453u; int v = 1000;\n"
"  for (int t = 0; t < 50; t++) { r = r * 1664525u + 1013904223u; v += drift[t & 15] + (int)(r >> 28) - 8; }\n"
"  out[i] = v; }\n";

struct batch { cl_mem drift, out; cl_event fetched; cl_int host[PATHS]; };

static cl_context ctx;
static cl_command_queue q;
static cl_kernel k;

static void init(void)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    RUN(clGetPlatformIDs(1, &p, NULL));
    RUN(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); RUN(e);
    q = clCreateCommandQueue(ctx, d, 0, &e); RUN(e);
    cl_program pr = clCreateProgramWithSource(ctx, 1, &mc_src, NULL, &e); RUN(e);
    RUN(clBuildProgram(pr, 1, &d, "", NULL, NULL));
    k = clCreateKernel(pr, "paths", &e); RUN(e);
    clReleaseProgram(pr);
}

static void queue_batch(struct batch *b, int id, cl_event gate)
{
    cl_int drift[16], e; size_t n = PATHS;
    for (int i = 0; i < 16; i++) drift[i] = (i * (id + 1)) % 5 - 2;
    b->drift = clCreateBuffer(ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof drift, drift, &e); RUN(e);
    b->out = clCreateBuffer(ctx, CL_MEM_WRITE_ONLY, sizeof b->host, NULL, &e); RUN(e);
    RUN(clSetKernelArg(k, 0, sizeof b->drift, &b->drift));
    RUN(clSetKernelArg(k, 1, sizeof b->out, &b->out));
    RUN(clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, &gate, NULL));
    RUN(clEnqueueReadBuffer(q, b->out, CL_FALSE, 0, sizeof b->host, b->host, 0, NULL, &b->fetched));
    RUN(clFlush(q));
}

static void drop_buffers(struct batch *b)
{
    for (int i = 0; i < BATCH; i++) {
        RUN(clReleaseMemObject(b[i].drift));
        RUN(clReleaseMemObject(b[i].out));
    }
}

static int verify(const struct batch *b, int id)
{
    int bad = 0;
    for (cl_uint i = 0; i < PATHS; i++) {
        cl_uint r = i * 747796405u + 2891336453u; int v = 1000;
        for (int t = 0; t < 50; t++) { r = r * 1664525u + 1013904223u; v += ((t & 15) * (id + 1)) % 5 - 2 + (int)(r >> 28) - 8; }
        bad += b->host[i] != v;
    }
    return bad;
}

int main(void)
{
    static struct batch b[BATCH];
    cl_int e, bad = 0;
    init();
    cl_event gate = clCreateUserEvent(ctx, &e); RUN(e);
    for (int i = 0; i < BATCH; i++) queue_batch(&b[i], i, gate);
    RUN(clSetUserEventStatus(gate, CL_COMPLETE));
    drop_buffers(b);
    RUN(clReleaseEvent(gate));
    for (int i = 0; i < BATCH; i++) {
        RUN(clWaitForEvents(1, &b[i].fetched));
        RUN(clReleaseEvent(b[i].fetched));
        bad += verify(&b[i], i);
    }
    RUN(clReleaseKernel(k)); RUN(clReleaseCommandQueue(q)); RUN(clReleaseContext(ctx));
    puts(bad ? "paths wrong" : "ok");
    return bad != 0;
}
