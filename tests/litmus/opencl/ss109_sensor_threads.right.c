/* Producer thread uploads sensor packets on its queue, consumer thread reduces them on another. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PACKETS 8
#define LEN 16384
#define ENSURE(x) do { cl_int e_ = (x); if (e_) { fprintf(stderr, "%s: %d\n", #x, e_); exit(1); } } while (0)

typedef struct { cl_mem buf; cl_event sent; int id; } packet;
typedef struct {
    pthread_mutex_t lock; pthread_cond_t some;
    packet item[PACKETS]; int head, tail;
} fifo;

static const char *src =
"__kernel void partial(__global const int *x, __global int *sums, int slot, int n) {\n"
"  int s = 0; for (int i = get_global_id(0); i < n; i += get_global_size(0)) s += x[i];\n"
"  atomic_add(&sums[slot], s); }\n";

static cl_context ctx; static cl_device_id dev; static cl_kernel k; static cl_mem sums;
static fifo line = { .lock = PTHREAD_MUTEX_INITIALIZER, .some = PTHREAD_COND_INITIALIZER };
static cl_int data[PACKETS][LEN];

static void fifo_put(fifo *f, packet p)
{
    pthread_mutex_lock(&f->lock);
    f->item[f->tail++] = p;
    pthread_cond_signal(&f->some);
    pthread_mutex_unlock(&f->lock);
}

static packet fifo_get(fifo *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->head == f->tail) pthread_cond_wait(&f->some, &f->lock);
    packet p = f->item[f->head++];
    pthread_mutex_unlock(&f->lock);
    return p;
}

static cl_command_queue new_queue(void)
{
    cl_int e; cl_command_queue q = clCreateCommandQueue(ctx, dev, 0, &e); ENSURE(e);
    return q;
}

static void *producer(void *arg)
{
    cl_command_queue q = new_queue(); cl_int e;
    (void)arg;
    for (int i = 0; i < PACKETS; i++) {
        packet p = { .id = i };
        p.buf = clCreateBuffer(ctx, CL_MEM_READ_ONLY, sizeof data[i], NULL, &e); ENSURE(e);
        ENSURE(clEnqueueWriteBuffer(q, p.buf, CL_FALSE, 0, sizeof data[i], data[i], 0, NULL, &p.sent));
        ENSURE(clFlush(q));
        fifo_put(&line, p);
    }
    ENSURE(clFinish(q));
    ENSURE(clReleaseCommandQueue(q));
    return NULL;
}

static void *consumer(void *out)
{
    cl_command_queue q = new_queue();
    for (int i = 0; i < PACKETS; i++) {
        packet p = fifo_get(&line);
        cl_int slot = p.id, n = LEN; size_t g = 64;
        ENSURE(clSetKernelArg(k, 0, sizeof p.buf, &p.buf));
        ENSURE(clSetKernelArg(k, 1, sizeof sums, &sums));
        ENSURE(clSetKernelArg(k, 2, sizeof slot, &slot));
        ENSURE(clSetKernelArg(k, 3, sizeof n, &n));
        ENSURE(clEnqueueNDRangeKernel(q, k, 1, NULL, &g, NULL, 1, &p.sent, NULL));
        ENSURE(clReleaseEvent(p.sent));
        ENSURE(clReleaseMemObject(p.buf));
    }
    ENSURE(clEnqueueReadBuffer(q, sums, CL_TRUE, 0, PACKETS * sizeof(cl_int), out, 0, NULL, NULL));
    ENSURE(clReleaseCommandQueue(q));
    return NULL;
}

int main(void)
{
    cl_platform_id p; cl_int e, got[PACKETS], zero[PACKETS] = { 0 }, bad = 0; pthread_t a, b;
    for (int i = 0; i < PACKETS; i++) for (int j = 0; j < LEN; j++) data[i][j] = (j * (i + 1)) % 19;
    ENSURE(clGetPlatformIDs(1, &p, NULL));
    ENSURE(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &dev, NULL));
    ctx = clCreateContext(NULL, 1, &dev, NULL, NULL, &e); ENSURE(e);
    cl_program pr = clCreateProgramWithSource(ctx, 1, &src, NULL, &e); ENSURE(e);
    ENSURE(clBuildProgram(pr, 1, &dev, "", NULL, NULL));
    k = clCreateKernel(pr, "partial", &e); ENSURE(e);
    ENSURE(clReleaseProgram(pr));
    sums = clCreateBuffer(ctx, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zero, zero, &e); ENSURE(e);
    if (pthread_create(&a, NULL, producer, NULL) || pthread_create(&b, NULL, consumer, got)) return 1;
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    for (int i = 0; i < PACKETS; i++) {
        int s = 0;
        for (int j = 0; j < LEN; j++) s += data[i][j];
        bad += s != got[i];
    }
    ENSURE(clReleaseMemObject(sums)); ENSURE(clReleaseKernel(k)); ENSURE(clReleaseContext(ctx));
    puts(bad ? "sums wrong" : "ok");
    return bad != 0;
}
