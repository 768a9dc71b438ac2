/* Video: decode into one of two staging frames, upload, deinterlace, fetch a field checksum. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WID 256
#define HEI 128
#define FSZ (WID * HEI)
#define NFRAMES 10
#define E(x) do { cl_int e__ = (x); if (e__) { fprintf(stderr, "%s:%d cl error %d\n", __func__, __LINE__, e__); exit(1); } } while (0)

static const char *kern =
"__kernel void bob(__global const uchar *f, __global uchar *g, int parity) {\n"
"  int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);\n"
"  int yy = (y & ~1) | parity; g[y * w + x] = f[yy * w + x]; }\n";

struct staging { unsigned char *px; cl_event sent; };
static cl_context ctx;
static cl_command_queue q;
static cl_kernel bob;
static cl_mem frame, field[NFRAMES];

static void decode(int n, unsigned char *px)
{
    for (int i = 0; i < FSZ; i++) px[i] = (unsigned char)(i * (n + 1) + (i >> 8) * 3 + n);
}

static void init(void)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    E(clGetPlatformIDs(1, &p, NULL));
    E(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); E(e);
    q = clCreateCommandQueue(ctx, d, 0, &e); E(e);
    cl_program pr = clCreateProgramWithSource(ctx, 1, &kern, NULL, &e); E(e);
    E(clBuildProgram(pr, 1, &d, NULL, NULL, NULL));
    bob = clCreateKernel(pr, "bob", &e); E(e);
    clReleaseProgram(pr);
    frame = clCreateBuffer(ctx, CL_MEM_READ_ONLY, FSZ, NULL, &e); E(e);
    for (int i = 0; i < NFRAMES; i++) { field[i] = clCreateBuffer(ctx, CL_MEM_READ_WRITE, FSZ, NULL, &e); E(e); }
}

static void push_frame(struct staging *st, int n)
{
    size_t g[2] = { WID, HEI };
    cl_int parity = n & 1;
    if (st->sent) {
        E(clWaitForEvents(1, &st->sent));
        E(clReleaseEvent(st->sent));
        st->sent = NULL;
    }
    decode(n, st->px);
    E(clEnqueueWriteBuffer(q, frame, CL_FALSE, 0, FSZ, st->px, 0, NULL, &st->sent));
    E(clSetKernelArg(bob, 0, sizeof frame, &frame));
    E(clSetKernelArg(bob, 1, sizeof field[n], &field[n]));
    E(clSetKernelArg(bob, 2, sizeof parity, &parity));
    E(clEnqueueNDRangeKernel(q, bob, 2, NULL, g, NULL, 0, NULL, NULL));
    E(clFlush(q));
}

int main(void)
{
    struct staging st[2];
    unsigned char *ref = malloc(FSZ), *got = malloc(FSZ);
    int bad = 0;
    init();
    for (int i = 0; i < 2; i++) { st[i].px = malloc(FSZ); st[i].sent = NULL; }
    for (int n = 0; n < NFRAMES; n++) push_frame(&st[n % 2], n);
    E(clFinish(q));
    for (int i = 0; i < 2; i++) { E(clReleaseEvent(st[i].sent)); free(st[i].px); }
    for (int n = 0; n < NFRAMES; n++) {
        E(clEnqueueReadBuffer(q, field[n], CL_TRUE, 0, FSZ, got, 0, NULL, NULL));
        E(clReleaseMemObject(field[n]));
        decode(n, ref);
        for (int y = 0; y < HEI; y++) bad += memcmp(got + y * WID, ref + ((y & ~1) | (n & 1)) * WID, WID) != 0;
    }
    E(clReleaseMemObject(frame)); E(clReleaseKernel(bob)); E(clReleaseCommandQueue(q)); E(clReleaseContext(ctx));
    free(ref); free(got);
    if (bad) printf("%d bad lines\n", bad); else puts("ok");
    return bad > 0;
}
