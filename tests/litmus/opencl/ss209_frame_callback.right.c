/* Encoder front end: a completion callback tells the muxer thread that a frame is ready. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FRAMES 6
#define SZ 20000
#define CK(x) do { cl_int e_ = (x); if (e_) { fprintf(stderr, "%s -> %d\n", #x, e_); exit(1); } } while (0)

struct mux { pthread_mutex_t m; pthread_cond_t c; int ready; };
struct note { struct mux *mux; cl_command_queue q; int frame; };

static const char *src =
"__kernel void rgb2y(__global const uchar *rgb, __global uchar *y) {\n"
"  int i = get_global_id(0); y[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8; }\n";

static cl_context ctx; static cl_command_queue q; static cl_kernel k;
static unsigned char rgb[FRAMES][3 * SZ], luma[FRAMES][SZ];

static void CL_CALLBACK on_frame(cl_event ev, cl_int status, void *user)
{
    struct note *n = user;
    (void)ev;
    if (status != CL_COMPLETE) abort();
    pthread_mutex_lock(&n->mux->m);
    n->mux->ready++;
    pthread_cond_signal(&n->mux->c);
    pthread_mutex_unlock(&n->mux->m);
}

static void encode(cl_mem in, cl_mem out, struct note *n)
{
    size_t g = SZ; cl_event done;
    CK(clEnqueueWriteBuffer(q, in, CL_FALSE, 0, 3 * SZ, rgb[n->frame], 0, NULL, NULL));
    CK(clSetKernelArg(k, 0, sizeof in, &in));
    CK(clSetKernelArg(k, 1, sizeof out, &out));
    CK(clEnqueueNDRangeKernel(q, k, 1, NULL, &g, NULL, 0, NULL, NULL));
    CK(clEnqueueReadBuffer(q, out, CL_FALSE, 0, SZ, luma[n->frame], 0, NULL, &done));
    CK(clSetEventCallback(done, CL_COMPLETE, on_frame, n));
    CK(clReleaseEvent(done));
    CK(clFlush(q));
}

static int mux_run(struct mux *x)
{
    int bad = 0;
    struct timespec limit = { time(NULL) + 3, 0 };
    pthread_mutex_lock(&x->m);
    while (x->ready < FRAMES)
        if (pthread_cond_timedwait(&x->c, &x->m, &limit)) { fputs("muxer gave up\n", stderr); _exit(1); }
    pthread_mutex_unlock(&x->m);
    for (int f = 0; f < FRAMES; f++)
        for (int i = 0; i < SZ; i++) {
            const unsigned char *p = &rgb[f][3 * i];
            bad += luma[f][i] != ((77 * p[0] + 150 * p[1] + 29 * p[2]) >> 8);
        }
    return bad;
}

int main(void)
{
    struct mux x = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
    struct note notes[FRAMES];
    cl_platform_id p; cl_device_id d; cl_int e;
    for (int f = 0; f < FRAMES; f++) for (int i = 0; i < 3 * SZ; i++) rgb[f][i] = (unsigned char)(i * (f + 5) + f);
    CK(clGetPlatformIDs(1, &p, NULL));
    CK(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); CK(e);
    q = clCreateCommandQueue(ctx, d, 0, &e); CK(e);
    cl_program pr = clCreateProgramWithSource(ctx, 1, &src, NULL, &e); CK(e);
    CK(clBuildProgram(pr, 1, &d, "", NULL, NULL));
    k = clCreateKernel(pr, "rgb2y", &e); CK(e);
    CK(clReleaseProgram(pr));
    cl_mem in = clCreateBuffer(ctx, CL_MEM_READ_ONLY, 3 * SZ, NULL, &e); CK(e);
    cl_mem out = clCreateBuffer(ctx, CL_MEM_WRITE_ONLY, SZ, NULL, &e); CK(e);
    for (int f = 0; f < FRAMES; f++) {
        notes[f] = (struct note){ &x, q, f };
        encode(in, out, &notes[f]);
    }
    int bad = mux_run(&x);
    CK(clReleaseMemObject(in)); CK(clReleaseMemObject(out));
    CK(clReleaseKernel(k)); CK(clReleaseCommandQueue(q)); CK(clReleaseContext(ctx));
    puts(bad ? "luma wrong" : "ok");
    return bad != 0;
}
