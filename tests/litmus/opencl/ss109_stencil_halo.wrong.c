// Wave equation on two queues ("left"/"right" half); barriers order the time steps.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 8192
#define STEPS 6
#define VERIFY(e) if ((e) != CL_SUCCESS) { fprintf(stderr, "OpenCL failure line %d\n", __LINE__); exit(1); }

static const char *wave_src =
"__kernel void wave(__global const int *u, __global const int *um, __global int *up) {\n"
"  int i = get_global_id(0), l = max(i - 1, 0), r = min(i + 1, NCELL - 1);\n"
"  up[i] = 2 * u[i] - um[i] + (u[l] - 2 * u[i] + u[r]) / 4; }\n";

typedef struct { cl_context ctx; cl_command_queue half[2]; cl_kernel k; cl_mem u[3]; } wave;

static void wave_open(wave *w, cl_int *u0)
{
    cl_platform_id p; cl_device_id d; cl_int e; char opt[32];
    VERIFY(clGetPlatformIDs(1, &p, NULL));
    VERIFY(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    w->ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); VERIFY(e);
    cl_program pr = clCreateProgramWithSource(w->ctx, 1, &wave_src, NULL, &e); VERIFY(e);
    snprintf(opt, sizeof opt, "-DNCELL=%d", N);
    VERIFY(clBuildProgram(pr, 1, &d, opt, NULL, NULL));
    w->k = clCreateKernel(pr, "wave", &e); VERIFY(e);
    VERIFY(clReleaseProgram(pr));
    for (int i = 0; i < 2; i++) { w->half[i] = clCreateCommandQueue(w->ctx, d, 0, &e); VERIFY(e); }
    for (int i = 0; i < 3; i++) {
        w->u[i] = clCreateBuffer(w->ctx, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, N * sizeof *u0, u0, &e); VERIFY(e);
    }
}

static void launch(wave *w, int step, int side, cl_event *ev)
{
    size_t off = side * (N / 2), n = N / 2;
    for (int a = 0; a < 3; a++) {
        cl_mem m = w->u[(step + (a == 0 ? 1 : a == 1 ? 0 : 2)) % 3];
        VERIFY(clSetKernelArg(w->k, a, sizeof m, &m));
    }
    VERIFY(clEnqueueNDRangeKernel(w->half[side], w->k, 1, &off, &n, NULL, 0, NULL, ev));  // expect: SS109
    VERIFY(clFlush(w->half[side]));
}

static void advance(wave *w, int step)
{
    cl_event ev[2];
    launch(w, step, 0, &ev[0]);
    launch(w, step, 1, &ev[1]);
    VERIFY(clEnqueueBarrierWithWaitList(w->half[1], 1, &ev[1], NULL));
    VERIFY(clEnqueueBarrierWithWaitList(w->half[1], 1, &ev[0], NULL));
    VERIFY(clReleaseEvent(ev[0]));
    VERIFY(clReleaseEvent(ev[1]));
}

int main(void)
{
    static cl_int u[3][N], got[N];
    wave w; int bad;
    for (int i = 0; i < N; i++) u[0][i] = u[1][i] = u[2][i] = (i / 64 % 5) * 100;
    wave_open(&w, u[0]);
    for (int s = 0; s < STEPS; s++) advance(&w, s);
    VERIFY(clEnqueueReadBuffer(w.half[1], w.u[(STEPS + 1) % 3], CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    for (int s = 0; s < STEPS; s++) {
        cl_int *c = u[(s + 1) % 3], *m = u[s % 3], *p = u[(s + 2) % 3];
        for (int i = 0; i < N; i++) {
            int l = i > 0 ? i - 1 : 0, r = i < N - 1 ? i + 1 : N - 1;
            p[i] = 2 * c[i] - m[i] + (c[l] - 2 * c[i] + c[r]) / 4;
        }
    }
    bad = memcmp(got, u[(STEPS + 1) % 3], sizeof got) != 0;
    for (int i = 0; i < 3; i++) VERIFY(clReleaseMemObject(w.u[i]));
    for (int i = 0; i < 2; i++) VERIFY(clReleaseCommandQueue(w.half[i]));
    VERIFY(clReleaseKernel(w.k)); VERIFY(clReleaseContext(w.ctx));
    puts(bad ? "wave differs" : "ok");
    return bad;
}
