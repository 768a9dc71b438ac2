/* Block-wise prefix sums; completion events are handed to a collector. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define BLK 256
#define NBLK 12
#define CE(x) do { cl_int r = (x); if (r) { fprintf(stderr, "%s:%d: %d\n", __FILE__, __LINE__, r); exit(1); } } while (0)

static const char *S =
"__kernel void scan(__global int *v, int base, int n) {\n"
"  int s = 0; for (int i = 0; i < n; i++) { s += v[base + i]; v[base + i] = s; } }\n";

struct ticket { cl_event ev; int block; };
struct board { struct ticket t[NBLK]; int n; };

static cl_context ctx; static cl_command_queue q; static cl_kernel k;

static void publish(struct board *b, cl_event ev, int block)
{
    b->t[b->n].ev = ev;
    b->t[b->n].block = block;
    b->n++;
}

static void launch(struct board *b, cl_mem v, int block)
{
    size_t one = 1; cl_int base = block * BLK, n = BLK; cl_event ev;
    CE(clSetKernelArg(k, 0, sizeof v, &v));
    CE(clSetKernelArg(k, 1, sizeof base, &base));
    CE(clSetKernelArg(k, 2, sizeof n, &n));
    CE(clEnqueueNDRangeKernel(q, k, 1, NULL, &one, NULL, 0, NULL, &ev));
    publish(b, ev, block);
}

static int poll_status(cl_event ev)
{
    cl_int st;
    CE(clGetEventInfo(ev, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof st, &st, NULL));
    return st;
}

static void collect(struct board *b, cl_mem v, cl_int *out)
{
    for (int i = 0; i < b->n; i++) {
        struct ticket *t = &b->t[i];
        if (poll_status(t->ev) != CL_COMPLETE)
            CE(clWaitForEvents(1, &t->ev));
        CE(clEnqueueReadBuffer(q, v, CL_TRUE, t->block * BLK * 4, BLK * 4, out + t->block * BLK, 0, NULL, NULL));
        CE(clReleaseEvent(t->ev));
    }
}

static void board_clear(struct board *b)
{
    for (int i = 0; i < b->n; i++) {
        printf("block %d done\n", b->t[i].block);
        CE(clReleaseEvent(b->t[i].ev)); // expect: SS205
    }
    b->n = 0;
}

int main(void)
{
    static cl_int in[BLK * NBLK], out[BLK * NBLK];
    struct board b = { .n = 0 };
    cl_platform_id p; cl_device_id d; cl_int e, bad = 0;
    for (int i = 0; i < BLK * NBLK; i++) in[i] = i % 23 - 9;
    CE(clGetPlatformIDs(1, &p, NULL));
    CE(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); CE(e);
    q = clCreateCommandQueue(ctx, d, 0, &e); CE(e);
    cl_program pr = clCreateProgramWithSource(ctx, 1, &S, NULL, &e); CE(e);
    CE(clBuildProgram(pr, 1, &d, NULL, NULL, NULL));
    k = clCreateKernel(pr, "scan", &e); CE(e);
    CE(clReleaseProgram(pr));
    cl_mem v = clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof in, in, &e); CE(e);
    for (int i = 0; i < NBLK; i++) launch(&b, v, i);
    CE(clFlush(q));
    collect(&b, v, out);
    board_clear(&b);
    for (int i = 0, s = 0; i < BLK * NBLK; i++) {
        s = i % BLK ? s + in[i] : in[i];
        bad += s != out[i];
    }
    CE(clReleaseMemObject(v)); CE(clReleaseKernel(k)); CE(clReleaseCommandQueue(q)); CE(clReleaseContext(ctx));
    puts(bad ? "sums wrong" : "ok");
    return bad != 0;
}
