/* Matrix in tiles: a sub-buffer for each tile, made when it is needed and given back when it has been enqueued. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define OK(x) do { cl_int r_ = (x); if (r_) { fprintf(stderr, "line %d: %d\n", __LINE__, r_); exit(2); } } while (0)
enum { TILE = 4096, TILES = 6 };

static const char *text =
    "__kernel void scale(__global float *tile, float by) { tile[get_global_id(0)] *= by; }\n";

typedef struct {
    cl_context context;
    cl_command_queue queue;
    cl_kernel scale;
    cl_mem matrix;
} solver;

static cl_mem tile_of(const solver *s, int number)
{
    cl_int status;
    cl_buffer_region region = {(size_t)number * TILE * sizeof(float), TILE * sizeof(float)};
    cl_mem tile = clCreateSubBuffer(s->matrix, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    OK(status);
    return tile;
}

static void enqueue_tile(const solver *s, int number, float by)
{
    size_t items = TILE;
    cl_mem tile = tile_of(s, number);
    OK(clSetKernelArg(s->scale, 0, sizeof tile, &tile));
    OK(clSetKernelArg(s->scale, 1, sizeof by, &by));
    OK(clEnqueueNDRangeKernel(s->queue, s->scale, 1, NULL, &items, NULL, 0, NULL, NULL));
    OK(clReleaseMemObject(tile));
}

int main(void)
{
    solver s;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    float *host = malloc(TILES * TILE * sizeof *host);
    for (int i = 0; i < TILES * TILE; i++) host[i] = 1.0f;
    OK(clGetPlatformIDs(1, &platform, NULL));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    s.context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    OK(status);
    s.queue = clCreateCommandQueue(s.context, device, 0, &status);
    OK(status);
    cl_program program = clCreateProgramWithSource(s.context, 1, &text, NULL, &status);
    OK(status);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    s.scale = clCreateKernel(program, "scale", &status);
    OK(status);
    OK(clReleaseProgram(program));
    s.matrix = clCreateBuffer(s.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, TILES * TILE * sizeof *host, host, &status);
    OK(status);
    for (int number = 0; number < TILES; number++)
        enqueue_tile(&s, number, 2.0f + number);
    OK(clEnqueueReadBuffer(s.queue, s.matrix, CL_TRUE, 0, TILES * TILE * sizeof *host, host, 0, NULL, NULL));
    puts(host[0] == 2.0F && host[TILES * TILE - 1] == 7.0F ? "ok" : "wrong");
    OK(clReleaseKernel(s.scale));
    OK(clReleaseMemObject(s.matrix));
    OK(clReleaseCommandQueue(s.queue));
    OK(clReleaseContext(s.context));
    free(host);
    return 0;
}
