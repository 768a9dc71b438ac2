/* Audio limiter: processes blocks on the device, host meters the peak of each block. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 4096
#define BLOCKS 8
#define CEIL 9000

#define ck(e) ck_((e), __LINE__)
static void ck_(cl_int e, int line) { if (e) { fprintf(stderr, "OpenCL error %d at %d\n", e, line); exit(1); } }

static const char *text =
"__kernel void limit(__global const short *x, __global short *y, short c) {\n"
"  int i = get_global_id(0); y[i] = clamp(x[i], (short)-c, c); }\n";

struct engine { cl_context ctx; cl_command_queue q; cl_kernel k; cl_mem x, y; };

static int peak(const cl_short *s, int n)
{
    int m = 0;
    for (int i = 0; i < n; i++) if (abs(s[i]) > m) m = abs(s[i]);
    return m;
}

static void engine_start(struct engine *g)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    ck(clGetPlatformIDs(1, &p, NULL));
    ck(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    g->ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); ck(e);
    g->q = clCreateCommandQueue(g->ctx, d, 0, &e); ck(e);
    cl_program pr = clCreateProgramWithSource(g->ctx, 1, &text, NULL, &e); ck(e);
    ck(clBuildProgram(pr, 1, &d, "", NULL, NULL));
    g->k = clCreateKernel(pr, "limit", &e); ck(e);
    ck(clReleaseProgram(pr));
    g->x = clCreateBuffer(g->ctx, CL_MEM_READ_ONLY, BLOCK * sizeof(cl_short), NULL, &e); ck(e);
    g->y = clCreateBuffer(g->ctx, CL_MEM_WRITE_ONLY, BLOCK * sizeof(cl_short), NULL, &e); ck(e);
    cl_short c = CEIL;
    ck(clSetKernelArg(g->k, 0, sizeof(cl_mem), &g->x));
    ck(clSetKernelArg(g->k, 1, sizeof(cl_mem), &g->y));
    ck(clSetKernelArg(g->k, 2, sizeof c, &c));
}

static int process(struct engine *g, const cl_short *in, cl_short *out)
{
    size_t n = BLOCK;
    cl_event ready;
    int level;
    ck(clEnqueueWriteBuffer(g->q, g->x, CL_FALSE, 0, BLOCK * sizeof *in, in, 0, NULL, NULL));
    ck(clEnqueueNDRangeKernel(g->q, g->k, 1, NULL, &n, NULL, 0, NULL, NULL));
    ck(clEnqueueReadBuffer(g->q, g->y, CL_FALSE, 0, BLOCK * sizeof *out, out, 0, NULL, &ready));
    ck(clFlush(g->q));
    ck(clWaitForEvents(1, &ready));
    level = peak(out, BLOCK);
    ck(clReleaseEvent(ready));
    return level;
}

int main(void)
{
    struct engine g;
    static cl_short in[BLOCKS][BLOCK], out[BLOCKS][BLOCK];
    int fail = 0;
    engine_start(&g);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < BLOCK; i++)
            in[b][i] = (cl_short)((i * 37 % 2001 - 1000) * (b + 2));
    for (int b = 0; b < BLOCKS; b++) {
        int want = peak(in[b], BLOCK), level = process(&g, in[b], out[b]);
        if (want > CEIL) want = CEIL;
        if (level != want) { printf("block %d: peak %d, expected %d\n", b, level, want); fail = 1; }
    }
    ck(clReleaseMemObject(g.x)); ck(clReleaseMemObject(g.y));
    ck(clReleaseKernel(g.k)); ck(clReleaseCommandQueue(g.q)); ck(clReleaseContext(g.ctx));
    if (!fail) puts("ok");
    return fail;
}
