// Luminance histogram per camera frame; a second queue archives the bins.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define BINS 256
#define PIXELS 40000
#define SHOTS 6

static void die(const char *what, cl_int e) { fprintf(stderr, "%s failed (%d)\n", what, e); exit(2); }
#define CL_(call) do { cl_int r__ = call; if (r__) die(#call, r__); } while (0)

static const char *code =
"kernel void clear_bins(global uint *bins) { bins[get_global_id(0)] = 0; }\n"
"kernel void hist(global const uchar *img, global uint *bins) {\n"
"  atomic_inc(&bins[img[get_global_id(0)]]);\n"
"}\n";

static cl_context ctx;
static cl_device_id dev;
static cl_kernel k_clear, k_hist;
static cl_command_queue q_main, q_copy;

static void setup(void)
{
    cl_platform_id pl; cl_int e;
    CL_(clGetPlatformIDs(1, &pl, 0));
    CL_(clGetDeviceIDs(pl, CL_DEVICE_TYPE_DEFAULT, 1, &dev, 0));
    ctx = clCreateContext(0, 1, &dev, 0, 0, &e); if (e) die("context", e);
    q_main = clCreateCommandQueueWithProperties(ctx, dev, 0, &e); if (e) die("queue", e);
    q_copy = clCreateCommandQueueWithProperties(ctx, dev, 0, &e); if (e) die("queue", e);
    cl_program pr = clCreateProgramWithSource(ctx, 1, &code, 0, &e); if (e) die("program", e);
    CL_(clBuildProgram(pr, 0, 0, "", 0, 0));
    k_clear = clCreateKernel(pr, "clear_bins", &e); if (e) die("kernel", e);
    k_hist = clCreateKernel(pr, "hist", &e); if (e) die("kernel", e);
    clReleaseProgram(pr);
}

int main(void)
{
    static unsigned char img[SHOTS][PIXELS];
    static cl_uint got[SHOTS][BINS], want[SHOTS][BINS];
    size_t nb = BINS, np = PIXELS;
    cl_event archived = NULL;
    cl_int e;

    for (int s = 0; s < SHOTS; s++)
        for (int i = 0; i < PIXELS; i++) { img[s][i] = (unsigned char)((i * (s + 3)) >> 2); want[s][img[s][i]]++; }
    setup();
    cl_mem pix = clCreateBuffer(ctx, CL_MEM_READ_ONLY, PIXELS, NULL, &e); if (e) die("pix", e);
    cl_mem bins = clCreateBuffer(ctx, CL_MEM_READ_WRITE, BINS * sizeof(cl_uint), NULL, &e); if (e) die("bins", e);
    cl_mem archive = clCreateBuffer(ctx, CL_MEM_READ_WRITE, sizeof got, NULL, &e); if (e) die("archive", e);
    CL_(clSetKernelArg(k_clear, 0, sizeof bins, &bins));
    CL_(clSetKernelArg(k_hist, 0, sizeof pix, &pix));
    CL_(clSetKernelArg(k_hist, 1, sizeof bins, &bins));

    for (int s = 0; s < SHOTS; s++) {
        cl_event counted;
        CL_(clEnqueueWriteBuffer(q_main, pix, CL_FALSE, 0, PIXELS, img[s], 0, NULL, NULL));
        CL_(clEnqueueNDRangeKernel(q_main, k_clear, 1, 0, &nb, 0, archived != NULL, archived ? &archived : NULL, NULL));
        if (archived) CL_(clReleaseEvent(archived));
        CL_(clEnqueueNDRangeKernel(q_main, k_hist, 1, 0, &np, 0, 0, NULL, &counted));
        CL_(clFlush(q_main));
        CL_(clEnqueueCopyBuffer(q_copy, bins, archive, 0, s * sizeof got[0], sizeof got[0], 0, NULL, &archived)); // expect: SS109
        CL_(clFlush(q_copy));
        CL_(clReleaseEvent(counted));
    }
    CL_(clReleaseEvent(archived));
    CL_(clEnqueueReadBuffer(q_copy, archive, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));

    int diff = 0;
    for (int s = 0; s < SHOTS; s++)
        for (int b = 0; b < BINS; b++) diff += got[s][b] != want[s][b];
    clReleaseMemObject(pix); clReleaseMemObject(bins); clReleaseMemObject(archive);
    clReleaseKernel(k_clear); clReleaseKernel(k_hist);
    clReleaseCommandQueue(q_main); clReleaseCommandQueue(q_copy); clReleaseContext(ctx); // expect: SS106
    printf("%s\n", diff ? "histograms differ" : "ok");
    return diff ? 1 : 0;
}
