/* The host's own array is the buffer's memory (CL_MEM_USE_HOST_PTR). */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define N 16384
#define OK(x) do { if ((x) != CL_SUCCESS) { fprintf(stderr, "failed in line %d\n", __LINE__); exit(1); } } while (0)

static cl_context ctx; static cl_command_queue q; static cl_kernel sum; static cl_mem in, out;

static const char *src =
"__kernel void sum(__global const int *a, __global int *r, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; *r = s; }\n";

static void init(cl_int *samples)
{
    cl_platform_id p; cl_device_id d; cl_int e, n = N;
    OK(clGetPlatformIDs(1, &p, NULL));
    OK(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); OK(e);
    q = clCreateCommandQueue(ctx, d, 0, &e); OK(e);
    cl_program pr = clCreateProgramWithSource(ctx, 1, &src, NULL, &e); OK(e);
    OK(clBuildProgram(pr, 1, &d, "", NULL, NULL));
    sum = clCreateKernel(pr, "sum", &e); OK(e);
    OK(clReleaseProgram(pr));
    in = clCreateBuffer(ctx, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, N * sizeof *samples, samples, &e); OK(e);
    out = clCreateBuffer(ctx, CL_MEM_WRITE_ONLY, sizeof(cl_int), NULL, &e); OK(e);
    OK(clSetKernelArg(sum, 0, sizeof in, &in));
    OK(clSetKernelArg(sum, 1, sizeof out, &out));
    OK(clSetKernelArg(sum, 2, sizeof n, &n));
}

static void next_block(cl_int *samples, int block)
{
    for (int i = 0; i < N; i++) samples[i] = block;  // expect: SS108
}

int main(void)
{
    cl_int *samples = malloc(N * sizeof *samples), result = 0;
    const size_t one = 1;
    for (int i = 0; i < N; i++) samples[i] = 0;
    init(samples);
    for (int block = 1; block <= 3; block++) {
        next_block(samples, block);
        OK(clEnqueueNDRangeKernel(q, sum, 1, NULL, &one, NULL, 0, NULL, NULL));
        OK(clFlush(q));
    }
    OK(clEnqueueReadBuffer(q, out, CL_TRUE, 0, sizeof result, &result, 0, NULL, NULL));
    OK(clReleaseMemObject(in)); OK(clReleaseMemObject(out));
    OK(clReleaseKernel(sum)); OK(clReleaseCommandQueue(q)); OK(clReleaseContext(ctx));
    free(samples);
    puts(result == 3 * N ? "ok" : "bad");
    return result != 3 * N;
}
