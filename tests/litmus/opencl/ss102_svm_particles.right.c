/* Particle emitter: particles live in SVM, a housekeeping queue frees emitters that burnt out. */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define EMITTERS 4
#define COUNT 8192
#define C(x) do { cl_int e_ = (x); if (e_ != CL_SUCCESS) { fprintf(stderr, "%s -> %d (line %d)\n", #x, e_, __LINE__); exit(1); } } while (0)

typedef struct { cl_int x, v; } particle;
typedef struct { particle *p; void *freed; cl_event last; } emitter;

static const char *src =
"typedef struct { int x, v; } particle;\n"
"__kernel void spawn(__global particle *p, int seed) { int i = get_global_id(0); p[i].x = i; p[i].v = (i * seed) % 13 - 6; }\n"
"__kernel void age(__global particle *p, __global int *energy, int slot) {\n"
"  int i = get_global_id(0); for (int t = 0; t < 20; t++) { p[i].x += p[i].v; p[i].v -= p[i].v / 4; }\n"
"  atomic_add(&energy[slot], p[i].x & 1023); }\n";

static cl_context ctx;
static cl_command_queue sim_q, house_q;
static cl_kernel k_spawn, k_age;

static void start(void)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    C(clGetPlatformIDs(1, &p, NULL));
    C(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); C(e);
    sim_q = clCreateCommandQueueWithProperties(ctx, d, NULL, &e); C(e);
    house_q = clCreateCommandQueueWithProperties(ctx, d, NULL, &e); C(e);
    cl_program pr = clCreateProgramWithSource(ctx, 1, &src, NULL, &e); C(e);
    C(clBuildProgram(pr, 1, &d, "", NULL, NULL));
    k_spawn = clCreateKernel(pr, "spawn", &e); C(e);
    k_age = clCreateKernel(pr, "age", &e); C(e);
    C(clReleaseProgram(pr));
}

static void burn(emitter *m, cl_mem energy, cl_int slot)
{
    size_t n = COUNT; cl_int seed = slot * 7 + 3;
    m->p = clSVMAlloc(ctx, CL_MEM_READ_WRITE, COUNT * sizeof(particle), 0);
    if (!m->p) { fputs("no SVM\n", stderr); exit(1); }
    C(clSetKernelArgSVMPointer(k_spawn, 0, m->p));
    C(clSetKernelArg(k_spawn, 1, sizeof seed, &seed));
    C(clEnqueueNDRangeKernel(sim_q, k_spawn, 1, NULL, &n, NULL, 0, NULL, NULL));
    C(clSetKernelArgSVMPointer(k_age, 0, m->p));
    C(clSetKernelArg(k_age, 1, sizeof energy, &energy));
    C(clSetKernelArg(k_age, 2, sizeof slot, &slot));
    C(clEnqueueNDRangeKernel(sim_q, k_age, 1, NULL, &n, NULL, 0, NULL, &m->last));
    C(clFlush(sim_q));
}

static void retire(emitter *m)
{
    m->freed = m->p;  /* lives until the queue is done: PoCL 3.0 reads the array late */
    C(clEnqueueSVMFree(house_q, 1, &m->freed, NULL, NULL, 1, &m->last, NULL));
    C(clFlush(house_q));
    C(clReleaseEvent(m->last));
    m->p = NULL;
}

int main(void)
{
    emitter em[EMITTERS];
    cl_int zero[EMITTERS] = { 0 }, got[EMITTERS], e, bad = 0;
    start();
    cl_mem energy = clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zero, zero, &e); C(e);
    for (int s = 0; s < EMITTERS; s++) { burn(&em[s], energy, s); retire(&em[s]); }
    C(clEnqueueReadBuffer(sim_q, energy, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    C(clFinish(house_q));
    for (int s = 0; s < EMITTERS; s++) {
        int sum = 0;
        for (int i = 0; i < COUNT; i++) {
            int x = i, v = (i * (s * 7 + 3)) % 13 - 6;
            for (int t = 0; t < 20; t++) { x += v; v -= v / 4; }
            sum += x & 1023;
        }
        bad += sum != got[s];
    }
    C(clReleaseMemObject(energy)); C(clReleaseKernel(k_spawn)); C(clReleaseKernel(k_age));
    C(clReleaseCommandQueue(sim_q)); C(clReleaseCommandQueue(house_q)); C(clReleaseContext(ctx));
    puts(bad ? "energy off" : "ok");
    return bad;
}
