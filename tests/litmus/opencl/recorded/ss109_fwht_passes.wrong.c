/* Fast Walsh-Hadamard transform, one launch per butterfly stage, ping-pong buffers. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define LOGN 13
#define N (1 << LOGN)
#define OK(e) do { if ((e) != CL_SUCCESS) { fprintf(stderr, "line %d: error %d\n", __LINE__, (int)(e)); abort(); } } while (0)

static const char *kSource =
    "__kernel void stage(__global const int *restrict a, __global int *restrict b, uint h) {\n"
    "  uint i = get_global_id(0);\n"
    "  int x = a[i & ~h], y = a[i | h];\n"
    "  b[i] = (i & h) ? x - y : x + y;\n"
    "}\n";

struct plan {
    cl_context ctx;
    cl_command_queue q;
    cl_kernel stage;
    cl_mem buf[2];
};

static struct plan plan_create(void)
{
    struct plan p; cl_platform_id plat; cl_device_id d; cl_int e;
    OK(clGetPlatformIDs(1, &plat, NULL));
    OK(clGetDeviceIDs(plat, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    p.ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); OK(e);
    p.q = clCreateCommandQueue(p.ctx, d, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &e); OK(e);
    cl_program prog = clCreateProgramWithSource(p.ctx, 1, &kSource, NULL, &e); OK(e);
    OK(clBuildProgram(prog, 1, &d, NULL, NULL, NULL));
    p.stage = clCreateKernel(prog, "stage", &e); OK(e);
    OK(clReleaseProgram(prog));
    for (int i = 0; i < 2; i++) { p.buf[i] = clCreateBuffer(p.ctx, CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL, &e); OK(e); }
    return p;
}

static void plan_run(struct plan *p, const cl_int *in, cl_int *out)
{
    const size_t n = N;
    int cur = 0;
    OK(clEnqueueWriteBuffer(p->q, p->buf[0], CL_FALSE, 0, N * sizeof(cl_int), in, 0, NULL, NULL));
    OK(clEnqueueBarrierWithWaitList(p->q, 0, NULL, NULL));
    for (int s = 0; s < LOGN; s++) {
        cl_uint h = 1u << s;
        OK(clSetKernelArg(p->stage, 0, sizeof(cl_mem), &p->buf[cur]));
        OK(clSetKernelArg(p->stage, 1, sizeof(cl_mem), &p->buf[cur ^ 1]));
        OK(clSetKernelArg(p->stage, 2, sizeof h, &h));
        OK(clEnqueueNDRangeKernel(p->q, p->stage, 1, NULL, &n, NULL, 0, NULL, NULL)); // expect: SS109
        cur ^= 1;
    }
    OK(clEnqueueBarrierWithWaitList(p->q, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(p->q, p->buf[cur], CL_TRUE, 0, N * sizeof(cl_int), out, 0, NULL, NULL));
}

static void plan_destroy(struct plan *p)
{
    for (int i = 0; i < 2; i++) OK(clReleaseMemObject(p->buf[i]));
    OK(clReleaseKernel(p->stage));
    OK(clReleaseCommandQueue(p->q));
    OK(clReleaseContext(p->ctx));
}

int main(void)
{
    cl_int *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    assert(x && y);
    for (int i = 0; i < N; i++) x[i] = (i * 2654435761u >> 20) % 17;
    struct plan p = plan_create();
    plan_run(&p, x, y);
    for (int h = 1; h < N; h <<= 1)
        for (int i = 0; i < N; i += 2 * h)
            for (int j = i; j < i + h; j++) { cl_int a = x[j], b = x[j + h]; x[j] = a + b; x[j + h] = a - b; }
    int bad = 0;
    for (int i = 0; i < N; i++) bad |= x[i] != y[i];
    plan_destroy(&p);
    free(x); free(y);
    puts(bad ? "transform wrong" : "ok");
    return bad;
}
