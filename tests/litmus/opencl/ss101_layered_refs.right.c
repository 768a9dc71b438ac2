/* A thin layer over OpenCL with reference counts of its own, and an operator layer above it. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- base layer ---- */
typedef struct gx_device { cl_context ctx; cl_command_queue q; cl_program prog; } gx_device;
typedef struct gx_buffer { cl_mem mem; size_t bytes; int refs; } gx_buffer;

static void gx_panic(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    exit(1);
}
#define GX(call) do { cl_int gx_rc = (call); if (gx_rc != CL_SUCCESS) gx_panic("%s: %d\n", #call, (int)gx_rc); } while (0)

static gx_buffer *gx_buffer_new(gx_device *dev, size_t bytes, const void *init)
{
    cl_int rc;
    gx_buffer *b = calloc(1, sizeof *b);
    if (!b) gx_panic("out of memory\n");
    b->mem = clCreateBuffer(dev->ctx, CL_MEM_READ_WRITE | (init ? CL_MEM_COPY_HOST_PTR : 0), bytes, (void *)init, &rc);
    GX(rc);
    b->bytes = bytes;
    b->refs = 1;
    return b;
}
static gx_buffer *gx_buffer_ref(gx_buffer *b) { b->refs++; return b; }
static void gx_buffer_unref(gx_buffer *b)
{
    if (--b->refs > 0) return;
    GX(clReleaseMemObject(b->mem));
    free(b);
}

/* ---- operators ---- */
typedef struct gx_op { cl_kernel kernel; gx_buffer *arg[2]; size_t n; } gx_op;

static gx_op *gx_op_new(gx_device *dev, const char *name, size_t n)
{
    cl_int rc;
    gx_op *op = calloc(1, sizeof *op);
    if (!op) gx_panic("out of memory\n");
    op->kernel = clCreateKernel(dev->prog, name, &rc);
    GX(rc);
    op->n = n;
    return op;
}
static void gx_op_bind(gx_op *op, cl_uint at, gx_buffer *b)
{
    op->arg[at] = gx_buffer_ref(b);
    GX(clSetKernelArg(op->kernel, at, sizeof b->mem, &b->mem));
}
static void gx_op_run(gx_device *dev, gx_op *op)
{
    GX(clEnqueueNDRangeKernel(dev->q, op->kernel, 1, NULL, &op->n, NULL, 0, NULL, NULL));
}
static void gx_op_free(gx_op *op)
{
    for (int i = 0; i < 2; i++)
        if (op->arg[i]) gx_buffer_unref(op->arg[i]);
    GX(clReleaseKernel(op->kernel));
    free(op);
}

static const char *program = "__kernel void negate(__global const int *a, __global int *b) { size_t i = get_global_id(0); b[i] = -a[i]; }";

static void gx_open(gx_device *dev)
{
    cl_platform_id p; cl_device_id d; cl_int rc;
    GX(clGetPlatformIDs(1, &p, NULL));
    GX(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    dev->ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &rc); GX(rc);
    dev->q = clCreateCommandQueue(dev->ctx, d, 0, &rc); GX(rc);
    dev->prog = clCreateProgramWithSource(dev->ctx, 1, &program, NULL, &rc); GX(rc);
    GX(clBuildProgram(dev->prog, 1, &d, NULL, NULL, NULL));
}
static void gx_close(gx_device *dev)
{
    GX(clReleaseProgram(dev->prog));
    GX(clReleaseCommandQueue(dev->q));
    GX(clReleaseContext(dev->ctx));
}

#define N 1024
int main(void)
{
    gx_device dev;
    cl_int data[N];
    int bad = 0;
    for (int i = 0; i < N; i++) data[i] = i;
    gx_open(&dev);
    gx_buffer *in = gx_buffer_new(&dev, sizeof data, data);
    gx_buffer *out = gx_buffer_new(&dev, sizeof data, NULL);
    gx_op *op = gx_op_new(&dev, "negate", N);
    gx_op_bind(op, 0, in);
    gx_op_bind(op, 1, out);
    gx_buffer_unref(in);
    gx_op_run(&dev, op);
    GX(clEnqueueReadBuffer(dev.q, out->mem, CL_TRUE, 0, out->bytes, data, 0, NULL, NULL));
    for (int i = 0; i < N; i++) bad += data[i] != -i;
    gx_op_free(op);
    gx_buffer_unref(out);
    gx_close(&dev);
    puts(bad ? "bad" : "ok");
    return bad != 0;
}
