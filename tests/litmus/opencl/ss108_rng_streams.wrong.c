// Counter-based random streams: each generator gets a key block, then fills a buffer.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define STREAMS 512
#define DRAWS 32

#define OCL(x) do { cl_int rc = (x); if (rc) { fprintf(stderr, #x ": %d\n", rc); exit(1); } } while (0)

static const char *rng_source =
"uint scramble(uint x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; return x ^ (x >> 16); }\n"
"__kernel void draw(__global const uint *keys, __global uint *out, uint draws) {\n"
"  uint s = get_global_id(0), k = keys[s];\n"
"  for (uint i = 0; i < draws; i++) out[s * draws + i] = scramble(k + i * 0x9e3779b9u);\n"
"}\n";

typedef struct rng {
    cl_context ctx;
    cl_command_queue q;
    cl_kernel draw;
    cl_mem keys, out;
} rng_t;

static cl_uint scramble(cl_uint x)
{
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

static void rng_create(rng_t *r)
{
    cl_platform_id p; cl_device_id d; cl_program prog; cl_int err;
    OCL(clGetPlatformIDs(1, &p, NULL));
    OCL(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    r->ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &err); OCL(err);
    r->q = clCreateCommandQueue(r->ctx, d, CL_QUEUE_PROFILING_ENABLE, &err); OCL(err);
    prog = clCreateProgramWithSource(r->ctx, 1, &rng_source, NULL, &err); OCL(err);
    OCL(clBuildProgram(prog, 1, &d, NULL, NULL, NULL));
    r->draw = clCreateKernel(prog, "draw", &err); OCL(err);
    OCL(clReleaseProgram(prog));
    r->keys = clCreateBuffer(r->ctx, CL_MEM_READ_ONLY, STREAMS * 4, NULL, &err); OCL(err);
    r->out = clCreateBuffer(r->ctx, CL_MEM_WRITE_ONLY, STREAMS * DRAWS * 4, NULL, &err); OCL(err);
}

static void rng_seed(rng_t *r, cl_uint seed)
{
    cl_uint keys[STREAMS];
    for (cl_uint i = 0; i < STREAMS; i++) keys[i] = scramble(seed + i);
    OCL(clEnqueueWriteBuffer(r->q, r->keys, CL_FALSE, 0, sizeof keys, keys, 0, NULL, NULL));
}  // expect: SS108

static double rng_fill(rng_t *r, cl_uint *host)
{
    size_t g = STREAMS; cl_uint n = DRAWS; cl_event ev; cl_ulong t0, t1;
    OCL(clSetKernelArg(r->draw, 0, sizeof r->keys, &r->keys));
    OCL(clSetKernelArg(r->draw, 1, sizeof r->out, &r->out));
    OCL(clSetKernelArg(r->draw, 2, sizeof n, &n));
    OCL(clEnqueueNDRangeKernel(r->q, r->draw, 1, NULL, &g, NULL, 0, NULL, &ev));
    OCL(clEnqueueReadBuffer(r->q, r->out, CL_TRUE, 0, STREAMS * DRAWS * 4, host, 0, NULL, NULL));
    OCL(clGetEventProfilingInfo(ev, CL_PROFILING_COMMAND_START, sizeof t0, &t0, NULL));
    OCL(clGetEventProfilingInfo(ev, CL_PROFILING_COMMAND_END, sizeof t1, &t1, NULL));
    OCL(clReleaseEvent(ev));
    return (t1 - t0) * 1e-6;
}

static void rng_destroy(rng_t *r)
{
    OCL(clReleaseMemObject(r->keys)); OCL(clReleaseMemObject(r->out));
    OCL(clReleaseKernel(r->draw)); OCL(clReleaseCommandQueue(r->q)); OCL(clReleaseContext(r->ctx));
}

int main(void)
{
    rng_t r;
    static cl_uint host[STREAMS * DRAWS];
    int bad = 0;
    rng_create(&r);
    for (cl_uint round = 1; round <= 4; round++) {
        rng_seed(&r, round * 1000003u);
        fprintf(stderr, "round %u: %.3f ms\n", round, rng_fill(&r, host));
        for (cl_uint i = 0; i < STREAMS * DRAWS; i++)
            bad += host[i] != scramble(scramble(round * 1000003u + i / DRAWS) + (i % DRAWS) * 0x9e3779b9u);
    }
    rng_destroy(&r);
    puts(bad ? "bad draws" : "ok");
    return bad ? 1 : 0;
}
