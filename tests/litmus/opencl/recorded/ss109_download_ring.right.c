/* Frame grabber: two devices' queues fill one ring of host lines by non-blocking reads, a consumer sums them. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define OK(x) do { cl_int r_ = (x); if (r_) { fprintf(stderr, "line %d: %d\n", __LINE__, r_); exit(2); } } while (0)
enum { WIDTH = 2048, CAMERAS = 2, LINES = 8 };

static const char *text =
    "__kernel void expose(__global int *line, int camera, int number) {\n"
    "  int x = get_global_id(0); line[x] = camera * 1000 + number + (x & 7); }\n";

struct camera {
    cl_command_queue queue;
    cl_kernel expose;
    cl_mem line;
};

struct grabber {
    cl_context context;
    struct camera camera[CAMERAS];
    cl_int *ring; /* LINES lines, of each camera in turn */
};

static void grabber_open(struct grabber *g)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    OK(clGetPlatformIDs(1, &platform, NULL));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    g->context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    OK(status);
    cl_program program = clCreateProgramWithSource(g->context, 1, &text, NULL, &status);
    OK(status);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    for (int i = 0; i < CAMERAS; i++) {
        struct camera *c = &g->camera[i];
        c->queue = clCreateCommandQueue(g->context, device, 0, &status);
        OK(status);
        c->expose = clCreateKernel(program, "expose", &status);
        OK(status);
        c->line = clCreateBuffer(g->context, CL_MEM_READ_WRITE, WIDTH * sizeof(cl_int), NULL, &status);
        OK(status);
    }
    OK(clReleaseProgram(program));
    g->ring = malloc(LINES * WIDTH * sizeof *g->ring);
}

static void grab(struct grabber *g, int which, int number)
{
    struct camera *c = &g->camera[which];
    cl_int *place = g->ring + (size_t)((number * CAMERAS + which) % LINES) * WIDTH;
    size_t items = WIDTH;
    OK(clSetKernelArg(c->expose, 0, sizeof c->line, &c->line));
    OK(clSetKernelArg(c->expose, 1, sizeof which, &which));
    OK(clSetKernelArg(c->expose, 2, sizeof number, &number));
    OK(clEnqueueNDRangeKernel(c->queue, c->expose, 1, NULL, &items, NULL, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(c->queue, c->line, CL_FALSE, 0, WIDTH * sizeof(cl_int), place, 0, NULL, NULL));
    OK(clFlush(c->queue));
}

int main(void)
{
    struct grabber g;
    long sum = 0;
    grabber_open(&g);
    for (int number = 0; number < LINES / CAMERAS; number++)
        for (int which = 0; which < CAMERAS; which++)
            grab(&g, which, number);
    for (int which = 0; which < CAMERAS; which++)
        OK(clFinish(g.camera[which].queue));
    for (int i = 0; i < (LINES / CAMERAS) * WIDTH; i++)
        sum += g.ring[i];
    puts(sum == 4128768 ? "ok" : "wrong");
    for (int which = 0; which < CAMERAS; which++) {
        clReleaseMemObject(g.camera[which].line);
        clReleaseKernel(g.camera[which].expose);
        clReleaseCommandQueue(g.camera[which].queue);
    }
    clReleaseContext(g.context);
    free(g.ring);
    return 0;
}
