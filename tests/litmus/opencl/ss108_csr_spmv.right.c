/* y = A x for a CSR matrix; column indices are narrowed to 16 bit while uploading. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 3000
#define PER_ROW 5
#define NNZ (ROWS * PER_ROW)
#define CLK(x) clk((x), #x, __LINE__)

static void clk(cl_int e, const char *s, int line)
{
    if (e == CL_SUCCESS) return;
    fprintf(stderr, "%d: %s -> %d\n", line, s, e);
    exit(EXIT_FAILURE);
}

struct csr { cl_mem ptr, col, val; };
static cl_context ctx;
static cl_command_queue queue;
static cl_kernel spmv;

static const char *SRC =
"__kernel void spmv(__global const uint *ptr, __global const ushort *col, __global const int *val,\n"
"                   __global const int *x, __global int *y) {\n"
"  uint r = get_global_id(0); int s = 0;\n"
"  for (uint k = ptr[r]; k < ptr[r + 1]; k++) s += val[k] * x[col[k]];\n"
"  y[r] = s; }\n";

static void gpu_init(void)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    CLK(clGetPlatformIDs(1, &p, 0));
    CLK(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, 0));
    ctx = clCreateContext(0, 1, &d, 0, 0, &e); CLK(e);
    queue = clCreateCommandQueue(ctx, d, 0, &e); CLK(e);
    cl_program pr = clCreateProgramWithSource(ctx, 1, &SRC, 0, &e); CLK(e);
    CLK(clBuildProgram(pr, 1, &d, 0, 0, 0));
    spmv = clCreateKernel(pr, "spmv", &e); CLK(e);
    CLK(clReleaseProgram(pr));
}

static cl_mem upload(const void *src, size_t bytes, cl_bool wait)
{
    cl_int e;
    cl_mem m = clCreateBuffer(ctx, CL_MEM_READ_ONLY, bytes, NULL, &e); CLK(e);
    CLK(clEnqueueWriteBuffer(queue, m, wait, 0, bytes, src, 0, NULL, NULL));
    return m;
}

static struct csr matrix_upload(const cl_uint *ptr, const cl_uint *col, const cl_int *val)
{
    struct csr m;
    uint16_t *narrow = malloc(NNZ * sizeof *narrow);
    for (int i = 0; i < NNZ; i++) narrow[i] = (uint16_t)col[i];
    m.ptr = upload(ptr, (ROWS + 1) * sizeof *ptr, CL_FALSE);
    m.val = upload(val, NNZ * sizeof *val, CL_FALSE);
    m.col = upload(narrow, NNZ * sizeof *narrow, CL_TRUE);
    free(narrow);
    return m;
}

int main(void)
{
    static cl_uint ptr[ROWS + 1], col[NNZ];
    static cl_int val[NNZ], x[ROWS], y[ROWS];
    for (int r = 0; r <= ROWS; r++) ptr[r] = r * PER_ROW;
    for (int k = 0; k < NNZ; k++) { col[k] = (k * 613u) % ROWS; val[k] = k % 9 - 4; }
    for (int i = 0; i < ROWS; i++) x[i] = i % 101;

    gpu_init();
    struct csr A = matrix_upload(ptr, col, val);
    cl_mem dx = upload(x, sizeof x, CL_FALSE);
    cl_int e;
    cl_mem dy = clCreateBuffer(ctx, CL_MEM_WRITE_ONLY, sizeof y, NULL, &e); CLK(e);
    cl_mem args[5] = { A.ptr, A.col, A.val, dx, dy };
    for (cl_uint i = 0; i < 5; i++) CLK(clSetKernelArg(spmv, i, sizeof args[i], &args[i]));
    size_t rows = ROWS;
    CLK(clEnqueueNDRangeKernel(queue, spmv, 1, NULL, &rows, NULL, 0, NULL, NULL));
    for (int i = 0; i < 4; i++) CLK(clReleaseMemObject(args[i]));
    CLK(clEnqueueReadBuffer(queue, dy, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL));
    CLK(clReleaseMemObject(dy));
    int bad = 0;
    for (int r = 0; r < ROWS; r++) {
        int s = 0;
        for (cl_uint k = ptr[r]; k < ptr[r + 1]; k++) s += val[k] * x[col[k]];
        bad += s != y[r];
    }
    CLK(clReleaseKernel(spmv)); CLK(clReleaseCommandQueue(queue)); CLK(clReleaseContext(ctx));
    printf(bad ? "%d rows wrong\n" : "ok\n", bad);
    return bad != 0;
}
