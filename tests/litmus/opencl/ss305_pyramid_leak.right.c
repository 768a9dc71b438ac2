// Image pyramid: each level is a fresh half-size buffer.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 256
#define IMAGES 5
#define CHK(x) do { cl_int s = (x); if (s) { fprintf(stderr, "%s(%d): %d\n", __FILE__, __LINE__, s); exit(1); } } while (0)

static const char *src =
"__kernel void half_size(__global const int *s, __global int *d, int w) {\n"
"  int x = get_global_id(0), y = get_global_id(1);\n"
"  __global const int *r = s + 2 * y * w + 2 * x;\n"
"  d[y * (w / 2) + x] = (r[0] + r[1] + r[w] + r[w + 1]) / 4; }\n";

struct gpu { cl_context ctx; cl_command_queue q; cl_kernel half; };

static void gpu_open(struct gpu *g)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    CHK(clGetPlatformIDs(1, &p, NULL));
    CHK(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    g->ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); CHK(e);
    g->q = clCreateCommandQueue(g->ctx, d, 0, &e); CHK(e);
    cl_program pr = clCreateProgramWithSource(g->ctx, 1, &src, NULL, &e); CHK(e);
    CHK(clBuildProgram(pr, 1, &d, "", NULL, NULL));
    g->half = clCreateKernel(pr, "half_size", &e); CHK(e);
    CHK(clReleaseProgram(pr));
}

static cl_mem shrink(struct gpu *g, cl_mem src_level, int w)
{
    size_t n[2] = { (size_t)w / 2, (size_t)w / 2 };
    cl_int e, wi = w;
    cl_mem dst = clCreateBuffer(g->ctx, CL_MEM_READ_WRITE, n[0] * n[1] * sizeof(cl_int), NULL, &e); CHK(e);
    CHK(clSetKernelArg(g->half, 0, sizeof src_level, &src_level));
    CHK(clSetKernelArg(g->half, 1, sizeof dst, &dst));
    CHK(clSetKernelArg(g->half, 2, sizeof wi, &wi));
    CHK(clEnqueueNDRangeKernel(g->q, g->half, 2, NULL, n, NULL, 0, NULL, NULL));
    return dst;
}

static cl_int mean_of(struct gpu *g, const cl_int *px)
{
    cl_int e, mean;
    cl_mem base = clCreateBuffer(g->ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, SIDE * SIDE * sizeof *px, (void *)px, &e); CHK(e);
    cl_mem cur = base;
    CHK(clRetainMemObject(base));
    for (int w = SIDE; w > 1; w /= 2) {
        cl_mem next = shrink(g, cur, w);
        CHK(clReleaseMemObject(cur));
        cur = next;
    }
    CHK(clEnqueueReadBuffer(g->q, cur, CL_TRUE, 0, sizeof mean, &mean, 0, NULL, NULL));
    CHK(clReleaseMemObject(cur));
    CHK(clReleaseMemObject(base));
    return mean;
}

static int cpu_mean(const cl_int *px)
{
    static cl_int a[SIDE * SIDE];
    memcpy(a, px, sizeof a);
    for (int w = SIDE; w > 1; w /= 2)
        for (int y = 0; y < w / 2; y++)
            for (int x = 0; x < w / 2; x++) {
                const cl_int *r = a + 2 * y * w + 2 * x;
                a[y * (w / 2) + x] = (r[0] + r[1] + r[w] + r[w + 1]) / 4;
            }
    return a[0];
}

int main(void)
{
    static cl_int px[SIDE * SIDE];
    struct gpu g;
    int bad = 0;
    gpu_open(&g);
    for (int i = 0; i < IMAGES; i++) {
        for (int k = 0; k < SIDE * SIDE; k++) px[k] = (k * (2 * i + 1)) % 251;
        bad += mean_of(&g, px) != cpu_mean(px);
    }
    CHK(clReleaseKernel(g.half)); CHK(clReleaseCommandQueue(g.q)); CHK(clReleaseContext(g.ctx));
    puts(bad ? "means differ" : "ok");
    return bad;
}
