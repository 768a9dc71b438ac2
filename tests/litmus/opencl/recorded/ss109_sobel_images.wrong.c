/* Sobel magnitude on image objects, out-of-order queue, dependency by events. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define W 200
#define H 120
#define CHECK(msg, e) do { if ((e) != CL_SUCCESS) { fprintf(stderr, "%s: %d\n", msg, (int)(e)); exit(1); } } while (0)

static const char *sobel_src =
"constant sampler_t smp = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
"kernel void invert(read_only image2d_t s, write_only image2d_t d) {\n"
"  int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
"  write_imageui(d, p, (uint4)(255 - read_imageui(s, smp, p).x, 0, 0, 0)); }\n"
"kernel void gradx(read_only image2d_t s, write_only image2d_t d) {\n"
"  int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
"  int l = read_imageui(s, smp, p - (int2)(1, 0)).x, r = read_imageui(s, smp, p + (int2)(1, 0)).x;\n"
"  write_imageui(d, p, (uint4)(abs(r - l), 0, 0, 0)); }\n";

struct app { cl_context ctx; cl_command_queue q; cl_kernel invert, gradx; cl_mem img[3]; };

static void app_open(struct app *a)
{
    cl_platform_id p; cl_device_id d; cl_int e;
    CHECK("platform", clGetPlatformIDs(1, &p, NULL));
    CHECK("device", clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL));
    a->ctx = clCreateContext(NULL, 1, &d, NULL, NULL, &e); CHECK("context", e);
    a->q = clCreateCommandQueue(a->ctx, d, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &e); CHECK("queue", e);
    cl_program pr = clCreateProgramWithSource(a->ctx, 1, &sobel_src, NULL, &e); CHECK("source", e);
    CHECK("build", clBuildProgram(pr, 1, &d, "", NULL, NULL));
    a->invert = clCreateKernel(pr, "invert", &e); CHECK("invert", e);
    a->gradx = clCreateKernel(pr, "gradx", &e); CHECK("gradx", e);
    clReleaseProgram(pr);
    const cl_image_format f = { CL_R, CL_UNSIGNED_INT8 };
    const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = H };
    for (int i = 0; i < 3; i++) { a->img[i] = clCreateImage(a->ctx, CL_MEM_READ_WRITE, &f, &desc, NULL, &e); CHECK("image", e); }
}

static cl_event pass(struct app *a, cl_kernel k, int from, int to, cl_event dep)
{
    const size_t g[2] = { W, H };
    cl_event ev;
    CHECK("arg", clSetKernelArg(k, 0, sizeof(cl_mem), &a->img[from]));
    CHECK("arg", clSetKernelArg(k, 1, sizeof(cl_mem), &a->img[to]));
    CHECK("ndrange", clEnqueueNDRangeKernel(a->q, k, 2, NULL, g, NULL, 1, &dep, &ev));
    CHECK("release", clReleaseEvent(dep));
    return ev;
}

static void process(struct app *a, const unsigned char *in, unsigned char *out)
{
    const size_t org[3] = { 0, 0, 0 }, reg[3] = { W, H, 1 };
    cl_event up, ev;
    CHECK("write", clEnqueueWriteImage(a->q, a->img[0], CL_FALSE, org, reg, 0, 0, in, 0, NULL, &up));
    ev = pass(a, a->invert, 0, 1, up);
    ev = pass(a, a->gradx, 1, 2, ev);
    CHECK("read", clEnqueueReadImage(a->q, a->img[2], CL_TRUE, org, reg, 0, 0, out, 0, NULL, NULL)); // expect: SS109
    CHECK("release", clReleaseEvent(ev));
}

int main(void)
{
    static unsigned char in[W * H], out[W * H];
    struct app a;
    int bad = 0;
    for (int i = 0; i < W * H; i++) in[i] = (unsigned char)(i * 13 % 256);
    app_open(&a);
    process(&a, in, out);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int l = 255 - in[y * W + (x > 0 ? x - 1 : 0)], r = 255 - in[y * W + (x < W - 1 ? x + 1 : W - 1)];
            bad += out[y * W + x] != abs(r - l);
        }
    for (int i = 0; i < 3; i++) clReleaseMemObject(a.img[i]);
    clReleaseKernel(a.invert); clReleaseKernel(a.gradx); clReleaseCommandQueue(a.q); clReleaseContext(a.ctx); // expect: SS106
    puts(bad ? "image wrong" : "ok");
    return bad != 0;
}
