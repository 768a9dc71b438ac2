/* Norms of vectors: the result goes into a structure on the stack of the function that asks for it. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define LEN 4096
#define CL_TRY(e) if ((rc = (e)) != CL_SUCCESS) goto fail

struct engine { cl_context context; cl_command_queue queue; cl_program program; cl_kernel norm; cl_mem vec, res; };
struct result { cl_int sum; cl_int max; };

static const char *code =
"__kernel void norm(__global const int *v, __global int *r, int n) {\n"
"  int s = 0, m = 0; for (int i = 0; i < n; i++) { s += v[i]; m = max(m, v[i]); } r[0] = s; r[1] = m; }\n";

static int engine_open(struct engine *e)
{
    cl_platform_id platform; cl_device_id device; cl_int rc;
    CL_TRY(clGetPlatformIDs(1, &platform, NULL));
    CL_TRY(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    e->context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc); if (rc) goto fail;
    e->queue = clCreateCommandQueue(e->context, device, 0, &rc); if (rc) goto fail;
    e->program = clCreateProgramWithSource(e->context, 1, &code, NULL, &rc); if (rc) goto fail;
    CL_TRY(clBuildProgram(e->program, 1, &device, NULL, NULL, NULL));
    e->norm = clCreateKernel(e->program, "norm", &rc); if (rc) goto fail;
    e->vec = clCreateBuffer(e->context, CL_MEM_READ_ONLY, LEN * sizeof(cl_int), NULL, &rc); if (rc) goto fail;
    e->res = clCreateBuffer(e->context, CL_MEM_READ_WRITE, sizeof(struct result), NULL, &rc); if (rc) goto fail;
    return 0;
fail:
    fprintf(stderr, "open: %d\n", rc);
    return 1;
}

static int engine_norm(struct engine *e, const cl_int *v, cl_event *ready)
{
    cl_int rc, n = LEN; size_t one = 1;
    struct result r;
    CL_TRY(clEnqueueWriteBuffer(e->queue, e->vec, CL_TRUE, 0, LEN * sizeof *v, v, 0, NULL, NULL));
    CL_TRY(clSetKernelArg(e->norm, 0, sizeof e->vec, &e->vec));
    CL_TRY(clSetKernelArg(e->norm, 1, sizeof e->res, &e->res));
    CL_TRY(clSetKernelArg(e->norm, 2, sizeof n, &n));
    CL_TRY(clEnqueueNDRangeKernel(e->queue, e->norm, 1, NULL, &one, NULL, 0, NULL, NULL));
    CL_TRY(clEnqueueReadBuffer(e->queue, e->res, CL_FALSE, 0, sizeof r, &r, 0, NULL, ready));
    CL_TRY(clFlush(e->queue));
    return r.sum;  // expect: SS108
fail:
    fprintf(stderr, "norm: %d\n", rc);
    exit(1);
}  // expect: SS108

static void engine_close(struct engine *e)
{
    clReleaseMemObject(e->vec); clReleaseMemObject(e->res);
    clReleaseKernel(e->norm); clReleaseProgram(e->program);
    clReleaseCommandQueue(e->queue); clReleaseContext(e->context);
}

int main(void)
{
    static cl_int v[LEN];
    struct engine e;
    cl_event ready;
    if (engine_open(&e)) return 1;
    for (int i = 0; i < LEN; i++) v[i] = 2;
    int sum = engine_norm(&e, v, &ready);
    clReleaseEvent(ready);
    clFinish(e.queue);
    engine_close(&e);
    puts(sum == 2 * LEN ? "ok" : "bad");
    return sum != 2 * LEN;
}
