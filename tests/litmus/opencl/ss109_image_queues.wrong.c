/* Frames are uploaded into an image on one queue and thresholded on another. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define W 160
#define H 120
#define MUST(call) do { int must_ = (call); if (must_) { fprintf(stderr, "%s:%d %d\n", __func__, __LINE__, must_); exit(1); } } while (0)

static const char *src =
"__kernel void threshold_frame(__read_only image2d_t in, __global uchar *out, uint level) {\n"
"  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
"  int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
"  out[at.y * get_global_size(0) + at.x] = read_imageui(in, s, at).x > level ? 255 : 0; }\n";

typedef struct { cl_context ctx; cl_command_queue load, work; cl_kernel k; cl_mem frame, mask; } pipe_t;

static void pipe_open(pipe_t *p)
{
    cl_platform_id pf; cl_device_id dev; cl_int e;
    MUST(clGetPlatformIDs(1, &pf, NULL));
    MUST(clGetDeviceIDs(pf, CL_DEVICE_TYPE_ALL, 1, &dev, NULL));
    p->ctx = clCreateContext(NULL, 1, &dev, NULL, NULL, &e); MUST(e);
    p->load = clCreateCommandQueue(p->ctx, dev, 0, &e); MUST(e);
    p->work = clCreateCommandQueue(p->ctx, dev, 0, &e); MUST(e);
    cl_program pr = clCreateProgramWithSource(p->ctx, 1, &src, NULL, &e); MUST(e);
    MUST(clBuildProgram(pr, 1, &dev, "", NULL, NULL));
    p->k = clCreateKernel(pr, "threshold_frame", &e); MUST(e);
    MUST(clReleaseProgram(pr));
    cl_image_format format = { .image_channel_order = CL_R, .image_channel_data_type = CL_UNSIGNED_INT8 };
    cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = H };
    p->frame = clCreateImage(p->ctx, CL_MEM_READ_ONLY, &format, &desc, NULL, &e); MUST(e);
    p->mask = clCreateBuffer(p->ctx, CL_MEM_WRITE_ONLY, W * H, NULL, &e); MUST(e);
}

static void pipe_frame(pipe_t *p, const unsigned char *pixels, cl_uint level)
{
    const size_t origin[3] = { 0, 0, 0 }, region[3] = { W, H, 1 }, global[2] = { W, H };
    cl_event loaded;
    MUST(clEnqueueWriteImage(p->load, p->frame, CL_FALSE, origin, region, 0, 0, pixels, 0, NULL, &loaded));
    MUST(clFlush(p->load));
    MUST(clSetKernelArg(p->k, 0, sizeof p->frame, &p->frame));
    MUST(clSetKernelArg(p->k, 1, sizeof p->mask, &p->mask));
    MUST(clSetKernelArg(p->k, 2, sizeof level, &level));
    MUST(clEnqueueNDRangeKernel(p->work, p->k, 2, NULL, global, NULL, 0, NULL, NULL));  // expect: SS109
    MUST(clReleaseEvent(loaded));
}

static void pipe_close(pipe_t *p)
{
    MUST(clFinish(p->load));
    MUST(clReleaseMemObject(p->frame)); MUST(clReleaseMemObject(p->mask)); MUST(clReleaseKernel(p->k));
    MUST(clReleaseCommandQueue(p->load)); MUST(clReleaseCommandQueue(p->work)); MUST(clReleaseContext(p->ctx));
}

int main(void)
{
    static unsigned char pixels[W * H], mask[W * H];
    pipe_t p;
    int bad = 0;
    for (int i = 0; i < W * H; i++) pixels[i] = (unsigned char)(i * 7);
    pipe_open(&p);
    pipe_frame(&p, pixels, 99);
    MUST(clEnqueueReadBuffer(p.work, p.mask, CL_TRUE, 0, sizeof mask, mask, 0, NULL, NULL));
    for (int i = 0; i < W * H; i++) bad += mask[i] != (pixels[i] > 99 ? 255 : 0);
    pipe_close(&p);
    puts(bad ? "bad" : "ok");
    return bad != 0;
}
