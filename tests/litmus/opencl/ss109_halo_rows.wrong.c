/* Two queues blur the upper and the lower half of an image; each half is a sub-buffer with one row of halo. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1024, HEIGHT = 64, ROW = WIDTH * (int)sizeof(cl_int), BYTES = ROW * HEIGHT };

typedef struct {
    cl_command_queue queue;
    cl_mem part;
    cl_event done;
} half_t;

static cl_context context;
static cl_device_id device;
static cl_kernel kernel;

static void expect(cl_int got, int line)
{
    if (got != CL_SUCCESS) {
        fprintf(stderr, "line %d: OpenCL error %d\n", line, got);
        exit(EXIT_FAILURE);
    }
}
#define E(x) expect((x), __LINE__)

static const char *text =
"kernel void shade(global int *rows, int add) { rows[get_global_id(1) * get_global_size(0) + get_global_id(0)] += add; }\n";

static void start(void)
{
    cl_platform_id platform;
    cl_int err;
    E(clGetPlatformIDs(1, &platform, NULL));
    E(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &err); E(err);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &err); E(err);
    E(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    kernel = clCreateKernel(program, "shade", &err); E(err);
    E(clReleaseProgram(program));
}

static half_t half_open(cl_mem whole, size_t first, size_t rows)
{
    half_t half;
    cl_int err;
    cl_buffer_region region;
    region.origin = first * ROW;
    region.size = rows * ROW;
    half.queue = clCreateCommandQueue(context, device, 0, &err); E(err);
    half.part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &err); E(err);
    half.done = NULL;
    return half;
}

static void half_run(half_t *half, size_t rows, cl_int add, const cl_event *after)
{
    size_t global[2] = { WIDTH, rows };
    E(clSetKernelArg(kernel, 0, sizeof(cl_mem), &half->part));
    E(clSetKernelArg(kernel, 1, sizeof add, &add));
    E(clEnqueueNDRangeKernel(half->queue, kernel, 2, NULL, global, NULL, after ? 1 : 0, after, &half->done));
    E(clFlush(half->queue));
}

static void half_close(half_t *half)
{
    E(clReleaseEvent(half->done));
    E(clReleaseMemObject(half->part));
    E(clReleaseCommandQueue(half->queue));
}

static void clear(cl_command_queue queue, cl_mem lower_half, cl_event *cleared)
{
    cl_int zero = 0;
    E(clEnqueueFillBuffer(queue, lower_half, &zero, sizeof zero, 0, ROW, 0, NULL, cleared));
}

int main(void)
{
    cl_int err, bad = 0;
    cl_int *pixels = calloc(1, BYTES);
    start();
    cl_mem whole = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, pixels, &err); E(err);
    half_t upper = half_open(whole, 0, HEIGHT / 2), lower = half_open(whole, HEIGHT / 2, HEIGHT / 2);
    cl_event cleared;
    clear(lower.queue, lower.part, &cleared);
    E(clFlush(lower.queue));
    half_run(&upper, HEIGHT / 2, 1, NULL);
    half_run(&lower, HEIGHT / 2, 2, NULL);
    E(clEnqueueReadBuffer(upper.queue, whole, CL_TRUE, 0, BYTES, pixels, 0, NULL, NULL));  // expect: SS109
    for (int i = 0; i < WIDTH * HEIGHT; i++) bad += pixels[i] != (i < WIDTH * HEIGHT / 2 ? 1 : 2);
    E(clReleaseEvent(cleared));
    E(clFinish(lower.queue));
    half_close(&upper);
    half_close(&lower);
    E(clReleaseMemObject(whole));
    E(clReleaseKernel(kernel));
    E(clReleaseContext(context));
    free(pixels);
    puts(bad ? "bad" : "ok");
    return bad != 0;
}
