/* Scratch space in shared virtual memory is given back to the queue that used it. */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define N 8192
static void die(const char *what, cl_int rc) { fprintf(stderr, "%s: %d\n", what, (int)rc); exit(1); }
#define ASSERT_CL(x) do { cl_int rc__ = x; if (rc__ != CL_SUCCESS) die(#x, rc__); } while (0)

static const char *src =
"__kernel void square(__global const int *in, __global int *tmp) { size_t i = get_global_id(0); tmp[i] = in[i] * in[i]; }\n"
"__kernel void accumulate(__global const int *tmp, __global int *out) { size_t i = get_global_id(0); out[i] += tmp[i]; }\n";

static cl_context ctx;
static cl_command_queue queue;
static cl_kernel square, accumulate;

static void setup(void)
{
    cl_platform_id p; cl_device_id d; cl_int rc;
    ASSERT_CL(clGetPlatformIDs(1, &p, NULL));
    ASSERT_CL(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &rc); ASSERT_CL(rc);
    queue = clCreateCommandQueueWithProperties(ctx, d, NULL, &rc); ASSERT_CL(rc);
    cl_program program = clCreateProgramWithSource(ctx, 1, &src, NULL, &rc); ASSERT_CL(rc);
    ASSERT_CL(clBuildProgram(program, 1, &d, "-cl-std=CL2.0", NULL, NULL));
    square = clCreateKernel(program, "square", &rc); ASSERT_CL(rc);
    accumulate = clCreateKernel(program, "accumulate", &rc); ASSERT_CL(rc);
    ASSERT_CL(clReleaseProgram(program));
}

/* The caller keeps the pointer until the queue is done: some runtimes (PoCL 3.0) read the array of clEnqueueSVMFree late. */
static void add_squares(cl_mem in, cl_mem out, void **kept)
{
    size_t n = N;
    void *tmp = *kept = clSVMAlloc(ctx, CL_MEM_READ_WRITE, N * sizeof(cl_int), 0);
    if (!tmp) die("clSVMAlloc", 0);
    ASSERT_CL(clSetKernelArg(square, 0, sizeof in, &in));
    ASSERT_CL(clSetKernelArgSVMPointer(square, 1, tmp));
    ASSERT_CL(clEnqueueNDRangeKernel(queue, square, 1, NULL, &n, NULL, 0, NULL, NULL));
    ASSERT_CL(clSetKernelArgSVMPointer(accumulate, 0, tmp));
    ASSERT_CL(clSetKernelArg(accumulate, 1, sizeof out, &out));
    ASSERT_CL(clEnqueueNDRangeKernel(queue, accumulate, 1, NULL, &n, NULL, 0, NULL, NULL));
    ASSERT_CL(clEnqueueSVMFree(queue, 1, kept, NULL, NULL, 0, NULL, NULL));
}

int main(void)
{
    static cl_int in[N], out[N];
    void *tmp[3];
    cl_int rc, bad = 0;
    for (int i = 0; i < N; i++) in[i] = i % 31;
    setup();
    cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof in, in, &rc); ASSERT_CL(rc);
    cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof out, out, &rc); ASSERT_CL(rc);
    for (int i = 0; i < 3; i++) add_squares(a, b, &tmp[i]);
    ASSERT_CL(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    for (int i = 0; i < N; i++) bad += out[i] != 3 * in[i] * in[i];
    clReleaseMemObject(a); clReleaseMemObject(b);
    clReleaseKernel(square); clReleaseKernel(accumulate);
    clReleaseCommandQueue(queue); clReleaseContext(ctx);
    puts(bad ? "bad" : "ok");
    return bad != 0;
}
