/* Coarse-grained shared virtual memory: the host fills a table, a kernel scales it, the host sums it. */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 4096
#define DO(call)                                                  \
    do {                                                          \
        cl_int rc = (call);                                       \
        if (rc != CL_SUCCESS) {                                   \
            fprintf(stderr, "%s failed: %d\n", #call, (int)rc);   \
            exit(1);                                              \
        }                                                         \
    } while (0)

typedef struct {
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_int *table;
} app_t;

static const char *text = "__kernel void scale(__global int *t, int f) { size_t i = get_global_id(0); t[i] *= f; }\n";

static void app_init(app_t *app)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int rc;
    DO(clGetPlatformIDs(1, &platform, NULL));
    DO(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    app->context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
    DO(rc);
    app->queue = clCreateCommandQueueWithProperties(app->context, device, NULL, &rc);
    DO(rc);
    cl_program program = clCreateProgramWithSource(app->context, 1, &text, NULL, &rc);
    DO(rc);
    DO(clBuildProgram(program, 1, &device, "-cl-std=CL2.0", NULL, NULL));
    app->kernel = clCreateKernel(program, "scale", &rc);
    DO(rc);
    DO(clReleaseProgram(program));
    app->table = clSVMAlloc(app->context, CL_MEM_READ_WRITE, COUNT * sizeof(cl_int), 0);
    if (app->table == NULL) exit(1);
}

static void fill(app_t *app)
{
    DO(clEnqueueSVMMap(app->queue, CL_TRUE, CL_MAP_WRITE, app->table, COUNT * sizeof(cl_int), 0, NULL, NULL));
    for (int i = 0; i < COUNT; i++) app->table[i] = i % 17;
    DO(clEnqueueSVMUnmap(app->queue, app->table, 0, NULL, NULL));
}

static void scale(app_t *app, cl_int factor)
{
    size_t global = COUNT;
    DO(clSetKernelArgSVMPointer(app->kernel, 0, app->table));
    DO(clSetKernelArg(app->kernel, 1, sizeof factor, &factor));
    DO(clEnqueueNDRangeKernel(app->queue, app->kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    DO(clFlush(app->queue));
}

static long sum(app_t *app)
{
    long total = 0;
    DO(clEnqueueSVMMap(app->queue, CL_TRUE, CL_MAP_READ, app->table, COUNT * sizeof(cl_int), 0, NULL, NULL));
    for (int i = 0; i < COUNT; i++) total += app->table[i];
    DO(clEnqueueSVMUnmap(app->queue, app->table, 0, NULL, NULL));
    return total;
}

int main(void)
{
    app_t app;
    app_init(&app);
    fill(&app);
    scale(&app, 3);
    long total = sum(&app), wanted = 0;
    for (int i = 0; i < COUNT; i++) wanted += 3 * (i % 17);
    DO(clFinish(app.queue));
    clSVMFree(app.context, app.table);
    DO(clReleaseKernel(app.kernel));
    DO(clReleaseCommandQueue(app.queue));
    DO(clReleaseContext(app.context));
    puts(total == wanted ? "ok" : "bad");
    return total != wanted;
}
