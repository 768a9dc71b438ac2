/* Batches whose completion is told by a callback; the callback fetches the statistics of the batch. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define N 2048
#define BATCHES 3
#define TRY(x) do { cl_int s = (x); if (s) { fprintf(stderr, #x ": %d\n", s); exit(2); } } while (0)

struct batch {
    cl_command_queue side;
    cl_mem stats;
    cl_int value[4];
    struct board *board;
};
struct board {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int finished;
};

static const char *source =
"__kernel void work(__global int *data, __global int *stats) {\n"
"  size_t i = get_global_id(0); data[i] = (int)i * 2; if (i == 0) { stats[0] = 1; stats[1] = 2; stats[2] = 3; stats[3] = 4; } }\n";

static void fetch(struct batch *b)
{
    b->value[0] = 0;
}

static void CL_CALLBACK on_done(cl_event event, cl_int status, void *data)
{
    struct batch *b = data;
    (void)event;
    if (status == CL_COMPLETE) fetch(b);
    pthread_mutex_lock(&b->board->lock);
    b->board->finished++;
    pthread_cond_signal(&b->board->change);
    pthread_mutex_unlock(&b->board->lock);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    struct board board = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
    struct batch batch[BATCHES];
    TRY(clGetPlatformIDs(1, &platform, NULL));
    TRY(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    TRY(status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    TRY(status);
    cl_command_queue side = clCreateCommandQueue(context, device, 0, &status);
    TRY(status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    TRY(status);
    TRY(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "work", &status);
    TRY(status);
    cl_mem data = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL, &status);
    TRY(status);
    size_t n = N;
    for (int b = 0; b < BATCHES; b++) {
        cl_event done;
        batch[b].side = side;
        batch[b].board = &board;
        batch[b].stats = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * sizeof(cl_int), NULL, &status);
        TRY(status);
        TRY(clSetKernelArg(kernel, 0, sizeof data, &data));
        TRY(clSetKernelArg(kernel, 1, sizeof batch[b].stats, &batch[b].stats));
        TRY(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL, &done));
        TRY(clSetEventCallback(done, CL_COMPLETE, on_done, &batch[b]));
        TRY(clReleaseEvent(done));
    }
    TRY(clFlush(queue));
    pthread_mutex_lock(&board.lock);
    while (board.finished < BATCHES) pthread_cond_wait(&board.change, &board.lock);
    pthread_mutex_unlock(&board.lock);
    int bad = 0;
    for (int b = 0; b < BATCHES; b++) {
        TRY(clEnqueueReadBuffer(side, batch[b].stats, CL_TRUE, 0, sizeof batch[b].value, batch[b].value, 0, NULL, NULL));
        bad += batch[b].value[3] != 4;
        TRY(clReleaseMemObject(batch[b].stats));
    }
    TRY(clFinish(queue));
    TRY(clReleaseMemObject(data));
    TRY(clReleaseKernel(kernel));
    TRY(clReleaseProgram(program));
    TRY(clReleaseCommandQueue(side));
    TRY(clReleaseCommandQueue(queue));
    TRY(clReleaseContext(context));
    puts(bad ? "bad" : "ok");
    return bad;
}
