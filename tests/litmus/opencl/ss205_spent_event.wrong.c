/* The event of the last command is kept, so that the next stage can wait for it. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define N 4096
typedef struct { cl_event event; bool held; } token;
typedef struct { cl_context ctx; cl_command_queue a, b; cl_mem m; token last; } chain;

static bool fine(cl_int s, const char *what)
{
    if (s == CL_SUCCESS) return true;
    fprintf(stderr, "%s: %d\n", what, s);
    exit(3);
}

static void chain_drop(chain *c)
{
    if (c->last.held) fine(clReleaseEvent(c->last.event), "release event");
    c->last.held = false;
}

static void chain_fill(chain *c, cl_command_queue q, cl_int value)
{
    cl_event done;
    chain_drop(c);
    fine(clEnqueueFillBuffer(q, c->m, &value, sizeof value, 0, N * sizeof value, c->last.event ? 1 : 0, c->last.event ? &c->last.event : NULL, &done), "fill");  // expect: SS205
    fine(clFlush(q), "flush");
    c->last.event = done;
    c->last.held = true;
}

int main(void)
{
    chain c = { 0 };
    cl_platform_id p; cl_device_id d; cl_int s, got[N];
    fine(clGetPlatformIDs(1, &p, NULL), "platform");
    fine(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL), "device");
    c.ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &s); fine(s, "context");
    c.a = clCreateCommandQueue(c.ctx, d, 0, &s); fine(s, "queue a");
    c.b = clCreateCommandQueue(c.ctx, d, 0, &s); fine(s, "queue b");
    c.m = clCreateBuffer(c.ctx, CL_MEM_READ_WRITE, sizeof got, NULL, &s); fine(s, "buffer");
    for (int i = 0; i < 4; i++) chain_fill(&c, i % 2 ? c.b : c.a, i + 1);
    fine(clEnqueueReadBuffer(c.a, c.m, CL_TRUE, 0, sizeof got, got, 1, &c.last.event, NULL), "read");
    chain_drop(&c);
    clReleaseMemObject(c.m); clReleaseCommandQueue(c.a); clReleaseCommandQueue(c.b); clReleaseContext(c.ctx);
    puts(got[N - 1] == 4 ? "ok" : "bad");
    return got[N - 1] != 4;
}
