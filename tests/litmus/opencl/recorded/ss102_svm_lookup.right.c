// Quantiser with its code book in coarse-grained SVM.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODES 64
#define SAMPLES 20000
#define REQUIRE(e) do { if ((e) != 0) { fprintf(stderr, "failed at line %d (%d)\n", __LINE__, (int)(e)); exit(3); } } while (0)

static const char *quant_cl =
"__kernel void quantise(__global const int *book, int n, __global const int *x, __global int *code) {\n"
"  size_t i = get_global_id(0); int best = 0;\n"
"  for (int c = 1; c < n; c++) if (abs(x[i] - book[c]) < abs(x[i] - book[best])) best = c;\n"
"  code[i] = best; }\n";

struct quantiser {
    cl_context ctx; cl_device_id dev; cl_command_queue q; cl_kernel k;
    cl_int *book;
};

static void quantiser_open(struct quantiser *z)
{
    cl_platform_id p; cl_int e;
    REQUIRE(clGetPlatformIDs(1, &p, NULL));
    REQUIRE(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &z->dev, NULL));
    z->ctx = clCreateContext(NULL, 1, &z->dev, NULL, NULL, &e); REQUIRE(e);
    z->q = clCreateCommandQueueWithProperties(z->ctx, z->dev, NULL, &e); REQUIRE(e);
    cl_program pr = clCreateProgramWithSource(z->ctx, 1, &quant_cl, NULL, &e); REQUIRE(e);
    REQUIRE(clBuildProgram(pr, 1, &z->dev, "", NULL, NULL));
    z->k = clCreateKernel(pr, "quantise", &e); REQUIRE(e);
    REQUIRE(clReleaseProgram(pr));
    z->book = clSVMAlloc(z->ctx, CL_MEM_READ_ONLY, CODES * sizeof(cl_int), 0);
    REQUIRE(z->book == NULL);
    REQUIRE(clEnqueueSVMMap(z->q, CL_TRUE, CL_MAP_WRITE, z->book, CODES * sizeof(cl_int), 0, NULL, NULL));
    for (int c = 0; c < CODES; c++) z->book[c] = c * 31 - 900;
    REQUIRE(clEnqueueSVMUnmap(z->q, z->book, 0, NULL, NULL));
}

static void quantiser_run(struct quantiser *z, cl_mem x, cl_mem code)
{
    cl_int n = CODES;
    size_t g = SAMPLES;
    REQUIRE(clSetKernelArgSVMPointer(z->k, 0, z->book));
    REQUIRE(clSetKernelArg(z->k, 1, sizeof n, &n));
    REQUIRE(clSetKernelArg(z->k, 2, sizeof x, &x));
    REQUIRE(clSetKernelArg(z->k, 3, sizeof code, &code));
    REQUIRE(clEnqueueNDRangeKernel(z->q, z->k, 1, NULL, &g, NULL, 0, NULL, NULL));
    REQUIRE(clFlush(z->q));
}

static void quantiser_drop_book(struct quantiser *z)
{
    REQUIRE(clFinish(z->q));
    clSVMFree(z->ctx, z->book);
    z->book = NULL;
}

int main(void)
{
    struct quantiser z;
    static cl_int x[SAMPLES], code[SAMPLES];
    cl_int e, bad = 0;
    for (int i = 0; i < SAMPLES; i++) x[i] = i * 13 % 2300 - 1100;
    quantiser_open(&z);
    cl_mem dx = clCreateBuffer(z.ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof x, x, &e); REQUIRE(e);
    cl_mem dc = clCreateBuffer(z.ctx, CL_MEM_WRITE_ONLY, sizeof code, NULL, &e); REQUIRE(e);
    quantiser_run(&z, dx, dc);
    quantiser_drop_book(&z);
    REQUIRE(clEnqueueReadBuffer(z.q, dc, CL_TRUE, 0, sizeof code, code, 0, NULL, NULL));
    for (int i = 0; i < SAMPLES; i++) {
        int best = 0;
        for (int c = 1; c < CODES; c++) if (abs(x[i] - (c * 31 - 900)) < abs(x[i] - (best * 31 - 900))) best = c;
        bad += best != code[i];
    }
    REQUIRE(clReleaseMemObject(dx)); REQUIRE(clReleaseMemObject(dc));
    REQUIRE(clReleaseKernel(z.k)); REQUIRE(clReleaseCommandQueue(z.q)); REQUIRE(clReleaseContext(z.ctx));
    puts(bad ? "codes differ" : "ok");
    return bad != 0;
}
