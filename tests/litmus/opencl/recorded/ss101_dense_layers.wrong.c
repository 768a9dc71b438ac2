/* Tiny int8 inference: three dense layers, weights streamed in per layer. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM 128
#define LAYERS 3
#define CHECK_CL(x) do { cl_int _e = (x); if (_e) { fprintf(stderr, "[%s] %d\n", #x, _e); exit(1); } } while (0)

static const char *dense_src =
"__kernel void dense(__global const char *w, __global const int *x, __global int *y, int dim) {\n"
"  int r = get_global_id(0), s = 0;\n"
"  for (int c = 0; c < dim; c++) s += w[r * dim + c] * x[c];\n"
"  y[r] = max(s >> 4, 0); }\n";

struct net {
    cl_context ctx;
    cl_command_queue q;
    cl_kernel dense;
    cl_mem act[2];
};

static void net_open(struct net *n)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    CHECK_CL(clGetPlatformIDs(1, &p, NULL));
    CHECK_CL(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    n->ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); CHECK_CL(e);
    n->q = clCreateCommandQueue(n->ctx, d, 0, &e); CHECK_CL(e);
    cl_program pr = clCreateProgramWithSource(n->ctx, 1, &dense_src, NULL, &e); CHECK_CL(e);
    CHECK_CL(clBuildProgram(pr, 1, &d, "", NULL, NULL));
    n->dense = clCreateKernel(pr, "dense", &e); CHECK_CL(e);
    CHECK_CL(clReleaseProgram(pr));
    for (int i = 0; i < 2; i++) { n->act[i] = clCreateBuffer(n->ctx, CL_MEM_READ_WRITE, DIM * sizeof(cl_int), NULL, &e); CHECK_CL(e); }
}

static void bind(struct net *n, cl_mem w, int layer)
{
    cl_int dim = DIM;
    CHECK_CL(clSetKernelArg(n->dense, 0, sizeof w, &w));
    CHECK_CL(clSetKernelArg(n->dense, 1, sizeof(cl_mem), &n->act[layer & 1]));
    CHECK_CL(clSetKernelArg(n->dense, 2, sizeof(cl_mem), &n->act[~layer & 1]));
    CHECK_CL(clSetKernelArg(n->dense, 3, sizeof dim, &dim));
}

static void layer_forward(struct net *n, const cl_char *weights, int layer)
{
    size_t g = DIM;
    cl_int e;
    cl_mem w = clCreateBuffer(n->ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, DIM * DIM, (void *)weights, &e);
    CHECK_CL(e);
    bind(n, w, layer);
    CHECK_CL(clReleaseMemObject(w));
    CHECK_CL(clEnqueueNDRangeKernel(n->q, n->dense, 1, NULL, &g, NULL, 0, NULL, NULL)); // expect: SS101
}

static void net_close(struct net *n)
{
    CHECK_CL(clReleaseMemObject(n->act[0]));
    CHECK_CL(clReleaseMemObject(n->act[1]));
    CHECK_CL(clReleaseKernel(n->dense));
    CHECK_CL(clReleaseCommandQueue(n->q));
    CHECK_CL(clReleaseContext(n->ctx));
}

int main(void)
{
    static cl_char w[LAYERS][DIM * DIM];
    cl_int x[DIM], y[DIM], got[DIM];
    struct net n;
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < DIM * DIM; i++) w[l][i] = (cl_char)((i * (l * 2 + 3) + i / DIM) % 7 - 2);
    for (int i = 0; i < DIM; i++) x[i] = i % 11;
    net_open(&n);
    CHECK_CL(clEnqueueWriteBuffer(n.q, n.act[0], CL_TRUE, 0, sizeof x, x, 0, NULL, NULL));
    for (int l = 0; l < LAYERS; l++) layer_forward(&n, w[l], l);
    CHECK_CL(clEnqueueReadBuffer(n.q, n.act[LAYERS & 1], CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    for (int l = 0; l < LAYERS; l++) {
        for (int r = 0; r < DIM; r++) {
            int s = 0;
            for (int c = 0; c < DIM; c++) s += w[l][r * DIM + c] * x[c];
            y[r] = (s >> 4) > 0 ? s >> 4 : 0;
        }
        memcpy(x, y, sizeof x);
    }
    net_close(&n);
    int bad = memcmp(got, y, sizeof y) != 0;
    puts(bad ? "activations differ" : "ok");
    return bad;
}
