/* Tone-curve stage of a thumbnail service: ring of slots, upload queue + compute queue. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { cl_int e_ = (x); if (e_ != CL_SUCCESS) { \
    fprintf(stderr, "%s:%d: %s -> %d\n", __FILE__, __LINE__, #x, e_); exit(1); } } while (0)
#define NPIX (320 * 64)
#define SLOTS 3
#define FRAMES 12

static const char *src =
    "__kernel void tone(__global const uchar *in, __global uchar *out, int gain) {\n"
    "  size_t i = get_global_id(0); int v = (in[i] * gain) >> 4;\n"
    "  out[i] = v > 255 ? 255 : v; }\n";

typedef struct { cl_mem in, out; cl_event uploaded, done; } slot_t;
typedef struct { cl_context ctx; cl_command_queue io, compute; cl_kernel tone; slot_t slot[SLOTS]; } pipe_t;

static void pipe_open(pipe_t *p)
{
    cl_platform_id plat; cl_device_id dev; cl_int err;
    CHECK(clGetPlatformIDs(1, &plat, NULL));
    CHECK(clGetDeviceIDs(plat, CL_DEVICE_TYPE_ALL, 1, &dev, NULL));
    p->ctx = clCreateContext(NULL, 1, &dev, NULL, NULL, &err); CHECK(err);
    p->io = clCreateCommandQueue(p->ctx, dev, 0, &err); CHECK(err);
    p->compute = clCreateCommandQueue(p->ctx, dev, 0, &err); CHECK(err);
    cl_program prog = clCreateProgramWithSource(p->ctx, 1, &src, NULL, &err); CHECK(err);
    CHECK(clBuildProgram(prog, 1, &dev, "", NULL, NULL));
    p->tone = clCreateKernel(prog, "tone", &err); CHECK(err);
    CHECK(clReleaseProgram(prog));
    for (int i = 0; i < SLOTS; i++) {
        slot_t *s = &p->slot[i];
        memset(s, 0, sizeof *s);
        s->in = clCreateBuffer(p->ctx, CL_MEM_READ_ONLY, NPIX, NULL, &err); CHECK(err);
        s->out = clCreateBuffer(p->ctx, CL_MEM_WRITE_ONLY, NPIX, NULL, &err); CHECK(err);
    }
}

static void submit(pipe_t *p, int frame, const unsigned char *px, unsigned char *res)
{
    slot_t *s = &p->slot[frame % SLOTS];
    cl_int gain = 16 + frame;
    size_t gws = NPIX;
    CHECK(clEnqueueWriteBuffer(p->io, s->in, CL_FALSE, 0, NPIX, px, 0, NULL, &s->uploaded)); // expect: SS109
    CHECK(clFlush(p->io));
    if (s->done)
        CHECK(clReleaseEvent(s->done));
    CHECK(clSetKernelArg(p->tone, 0, sizeof(cl_mem), &s->in));
    CHECK(clSetKernelArg(p->tone, 1, sizeof(cl_mem), &s->out));
    CHECK(clSetKernelArg(p->tone, 2, sizeof(cl_int), &gain));
    CHECK(clEnqueueNDRangeKernel(p->compute, p->tone, 1, NULL, &gws, NULL, 1, &s->uploaded, &s->done));
    CHECK(clReleaseEvent(s->uploaded));
    CHECK(clEnqueueReadBuffer(p->compute, s->out, CL_FALSE, 0, NPIX, res, 0, NULL, NULL));
    CHECK(clFlush(p->compute));
}

static void pipe_close(pipe_t *p)
{
    for (int i = 0; i < SLOTS; i++) {
        slot_t *s = &p->slot[i];
        if (s->done) CHECK(clReleaseEvent(s->done));
        CHECK(clReleaseMemObject(s->in));
        CHECK(clReleaseMemObject(s->out));
    }
    CHECK(clReleaseKernel(p->tone));
    CHECK(clReleaseCommandQueue(p->io));
    CHECK(clReleaseCommandQueue(p->compute));
    CHECK(clReleaseContext(p->ctx));
}

int main(void)
{
    pipe_t p;
    unsigned char *in = malloc(FRAMES * NPIX), *out = calloc(FRAMES, NPIX);
    int bad = 0;
    for (int i = 0; i < FRAMES * NPIX; i++) in[i] = (unsigned char)(i * 7 + i / NPIX * 31);
    pipe_open(&p);
    for (int f = 0; f < FRAMES; f++)
        submit(&p, f, in + f * NPIX, out + f * NPIX);
    CHECK(clFinish(p.compute));
    for (int i = 0; i < FRAMES * NPIX; i++) {
        int v = (in[i] * (16 + i / NPIX)) >> 4;
        bad += out[i] != (v > 255 ? 255 : v);
    }
    pipe_close(&p);
    free(in); free(out);
    puts(bad ? "mismatch" : "ok");
    return bad != 0;
}
