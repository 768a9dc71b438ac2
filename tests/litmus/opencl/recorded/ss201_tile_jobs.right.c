// Map tiles: two jobs (blur, edge) look at the same source tile buffer.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define T 64
#define N (T * T)
#define MUST(x) must((x), __LINE__)
static void must(cl_int e, int l) { if (e != CL_SUCCESS) { fprintf(stderr, "cl %d @%d\n", e, l); exit(1); } }

static const char *prog_text =
"__kernel void blur(__global const int *s, __global int *d) { int i = get_global_id(0), n = get_global_size(0);\n"
"  d[i] = (s[max(i - 1, 0)] + s[i] + s[min(i + 1, n - 1)]) / 3; }\n"
"__kernel void edge(__global const int *s, __global int *d) { int i = get_global_id(0);\n"
"  d[i] = i ? s[i] - s[i - 1] : 0; }\n";

typedef struct job {
    cl_kernel k;
    cl_mem src, dst;
} job;

static cl_context ctx;
static cl_command_queue q;
static cl_program prog;

static void boot(void)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    MUST(clGetPlatformIDs(1, &p, NULL));
    MUST(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); MUST(e);
    q = clCreateCommandQueue(ctx, d, 0, &e); MUST(e);
    prog = clCreateProgramWithSource(ctx, 1, &prog_text, NULL, &e); MUST(e);
    MUST(clBuildProgram(prog, 1, &d, NULL, NULL, NULL));
}

static cl_mem load_tile(const cl_int *px)
{
    cl_int e;
    cl_mem m = clCreateBuffer(ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, N * sizeof *px, (void *)px, &e); MUST(e);
    return m;
}

static job job_open(const char *name, cl_mem tile)
{
    cl_int e; job j;
    j.k = clCreateKernel(prog, name, &e); MUST(e);
    j.src = tile;
    MUST(clRetainMemObject(tile));
    j.dst = clCreateBuffer(ctx, CL_MEM_WRITE_ONLY, N * sizeof(cl_int), NULL, &e); MUST(e);
    MUST(clSetKernelArg(j.k, 0, sizeof j.src, &j.src));
    MUST(clSetKernelArg(j.k, 1, sizeof j.dst, &j.dst));
    return j;
}

static void job_run(job *j, cl_int *out)
{
    size_t n = N;
    MUST(clEnqueueNDRangeKernel(q, j->k, 1, NULL, &n, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(q, j->dst, CL_TRUE, 0, N * sizeof *out, out, 0, NULL, NULL));
}

static void job_close(job *j)
{
    clReleaseMemObject(j->src);
    clReleaseMemObject(j->dst);
    clReleaseKernel(j->k);
}

int main(void)
{
    static cl_int px[N], a[N], b[N];
    int bad = 0;
    for (int i = 0; i < N; i++) px[i] = (i * i) % 509;
    boot();
    cl_mem tile = load_tile(px);
    job blur = job_open("blur", tile), edge = job_open("edge", tile);
    clReleaseMemObject(tile);
    job_run(&blur, a);
    job_run(&edge, b);
    job_close(&blur);
    job_close(&edge);
    for (int i = 0; i < N; i++) {
        int l = px[i > 0 ? i - 1 : 0], r = px[i < N - 1 ? i + 1 : N - 1];
        bad += a[i] != (l + px[i] + r) / 3;
        bad += b[i] != (i ? px[i] - px[i - 1] : 0);
    }
    MUST(clReleaseProgram(prog));
    MUST(clReleaseCommandQueue(q));
    MUST(clReleaseContext(ctx));
    puts(bad ? "tiles wrong" : "ok");
    return bad != 0;
}
