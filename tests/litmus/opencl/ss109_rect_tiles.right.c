/* A canvas is composed of tiles: each tile is copied by a rectangle copy, on the queue of its layer. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define CANVAS 256u
#define TILE 128u
#define Q(x) do { cl_int q_ = (x); if (q_ != CL_SUCCESS) { printf("%s: %d\n", #x, q_); abort(); } } while (0)

struct layer { cl_command_queue queue; cl_mem tile; cl_event copied; };
struct canvas { cl_context context; cl_device_id device; cl_mem pixels; struct layer layer[2]; };

static cl_mem buffer(struct canvas *c, size_t bytes)
{
    cl_int err;
    cl_mem m = clCreateBuffer(c->context, CL_MEM_READ_WRITE, bytes, NULL, &err);
    Q(err);
    return m;
}

static void open_canvas(struct canvas *c)
{
    cl_platform_id p; cl_int err;
    Q(clGetPlatformIDs(1, &p, NULL));
    Q(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &c->device, NULL));
    c->context = clCreateContext(NULL, 1, &c->device, NULL, NULL, &err); Q(err);
    c->pixels = buffer(c, CANVAS * CANVAS);
    for (int l = 0; l < 2; l++) {
        cl_uchar colour = (cl_uchar)(10 + l);
        c->layer[l].queue = clCreateCommandQueue(c->context, c->device, 0, &err); Q(err);
        c->layer[l].tile = buffer(c, TILE * TILE);
        Q(clEnqueueFillBuffer(c->layer[l].queue, c->layer[l].tile, &colour, 1, 0, TILE * TILE, 0, NULL, NULL));
    }
}

static void place(struct canvas *c, int l, size_t x, size_t y, cl_uint count, const cl_event *after)
{
    const size_t from[3] = { 0, 0, 0 }, to[3] = { x, y, 0 }, region[3] = { TILE, TILE, 1 };
    Q(clEnqueueCopyBufferRect(c->layer[l].queue, c->layer[l].tile, c->pixels, from, to, region, TILE, 0, CANVAS, 0, count, after, &c->layer[l].copied));
}

int main(void)
{
    static cl_uchar got[CANVAS * CANVAS];
    struct canvas c;
    open_canvas(&c);
    cl_uchar zero = 0;
    Q(clEnqueueFillBuffer(c.layer[0].queue, c.pixels, &zero, 1, 0, CANVAS * CANVAS, 0, NULL, NULL));
    Q(clFinish(c.layer[0].queue));
    place(&c, 0, 0, 0, 0, NULL);
    place(&c, 1, 128, 0, 0, NULL);
    for (int l = 0; l < 2; l++) Q(clFlush(c.layer[l].queue));
    cl_event both[2] = { c.layer[0].copied, c.layer[1].copied };
    Q(clEnqueueReadBuffer(c.layer[0].queue, c.pixels, CL_TRUE, 0, sizeof got, got, 2, both, NULL));
    int bad = got[0] != 10;
    for (int l = 0; l < 2; l++) {
        Q(clReleaseEvent(c.layer[l].copied));
        Q(clReleaseMemObject(c.layer[l].tile));
        Q(clReleaseCommandQueue(c.layer[l].queue));
    }
    Q(clReleaseMemObject(c.pixels));
    Q(clReleaseContext(c.context));
    puts(bad ? "bad" : "ok");
    return bad;
}
