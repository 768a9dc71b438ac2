// Fixed-point n-body: forces on one queue, integration on another.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 256, STEPS = 8 };
#define TRY(expr) do { cl_int s_ = (expr); if (s_ != CL_SUCCESS) { printf("%s = %d\n", #expr, s_); exit(1); } } while (0)
#define NEW(var, expr) do { cl_int err; var = expr; if (err) { printf("%s: %d\n", #var, err); exit(1); } } while (0)

static const char *nbody_cl =
"kernel void forces(global const int *pos, global int *acc, int n) {\n"
"  int i = get_global_id(0), a = 0;\n"
"  for (int j = 0; j < n; j++) { int d = pos[j] - pos[i]; a += d / (1 + ((int)abs(d) >> 4)); }\n"
"  acc[i] = a; }\n"
"kernel void integrate(global int *pos, global int *vel, global const int *acc) {\n"
"  int i = get_global_id(0); vel[i] += acc[i] >> 6; pos[i] += vel[i] >> 4; }\n";

typedef struct {
    cl_context c; cl_device_id d;
    cl_command_queue qf, qi;
    cl_kernel forces, integrate;
    cl_mem pos, vel, acc;
} sim;

static void sim_init(sim *s, cl_int *pos0, cl_int *vel0)
{
    cl_platform_id p; cl_program pr; cl_int n = BODIES;
    size_t sz = BODIES * sizeof(cl_int);
    TRY(clGetPlatformIDs(1, &p, NULL));
    TRY(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &s->d, NULL));
    NEW(s->c, clCreateContext(NULL, 1, &s->d, NULL, NULL, &err));
    NEW(s->qf, clCreateCommandQueueWithProperties(s->c, s->d, NULL, &err));
    NEW(s->qi, clCreateCommandQueueWithProperties(s->c, s->d, NULL, &err));
    NEW(pr, clCreateProgramWithSource(s->c, 1, &nbody_cl, NULL, &err));
    TRY(clBuildProgram(pr, 1, &s->d, NULL, NULL, NULL));
    NEW(s->forces, clCreateKernel(pr, "forces", &err));
    NEW(s->integrate, clCreateKernel(pr, "integrate", &err));
    clReleaseProgram(pr);
    NEW(s->pos, clCreateBuffer(s->c, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sz, pos0, &err));
    NEW(s->vel, clCreateBuffer(s->c, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sz, vel0, &err));
    NEW(s->acc, clCreateBuffer(s->c, CL_MEM_READ_WRITE, sz, NULL, &err));
    TRY(clSetKernelArg(s->forces, 0, sizeof(cl_mem), &s->pos));
    TRY(clSetKernelArg(s->forces, 1, sizeof(cl_mem), &s->acc));
    TRY(clSetKernelArg(s->forces, 2, sizeof n, &n));
    TRY(clSetKernelArg(s->integrate, 0, sizeof(cl_mem), &s->pos));
    TRY(clSetKernelArg(s->integrate, 1, sizeof(cl_mem), &s->vel));
    TRY(clSetKernelArg(s->integrate, 2, sizeof(cl_mem), &s->acc));
}

static void sim_run(sim *s)
{
    size_t g = BODIES;
    cl_event moved, pushed;
    TRY(clEnqueueMarkerWithWaitList(s->qi, 0, NULL, &moved));
    for (int t = 0; t < STEPS; t++) {
        TRY(clFlush(s->qi));
        TRY(clEnqueueNDRangeKernel(s->qf, s->forces, 1, NULL, &g, NULL, 1, &moved, &pushed));
        TRY(clFlush(s->qf));
        cl_event next;
        TRY(clEnqueueNDRangeKernel(s->qi, s->integrate, 1, NULL, &g, NULL, 1, &moved, &next)); // expect: SS109
        clReleaseEvent(moved);
        clReleaseEvent(pushed);
        moved = next;
    }
    clReleaseEvent(moved);
}

int main(void)
{
    cl_int p[BODIES], v[BODIES], a[BODIES], got[BODIES];
    sim s;
    for (int i = 0; i < BODIES; i++) { p[i] = (i * 7919) % 10007; v[i] = i % 5 - 2; }
    sim_init(&s, p, v);
    sim_run(&s);
    TRY(clEnqueueReadBuffer(s.qi, s.pos, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < BODIES; i++) { a[i] = 0; for (int j = 0; j < BODIES; j++) { int d = p[j] - p[i]; a[i] += d / (1 + (abs(d) >> 4)); } }
        for (int i = 0; i < BODIES; i++) { v[i] += a[i] >> 6; p[i] += v[i] >> 4; }
    }
    int same = memcmp(p, got, sizeof got) == 0;
    clReleaseMemObject(s.pos); clReleaseMemObject(s.vel); clReleaseMemObject(s.acc);
    clReleaseKernel(s.forces); clReleaseKernel(s.integrate);
    clReleaseCommandQueue(s.qf); clReleaseCommandQueue(s.qi); clReleaseContext(s.c); // expect: SS106
    puts(same ? "ok" : "diverged");
    return !same;
}
