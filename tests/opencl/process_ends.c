// A program that ends in the way that is asked for; test_process_ends.py compares what it does alone and recorded.
#include <CL/cl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const source = "__kernel void add(__global float *data) { data[get_global_id(0)] += 1; }\n";
static float zeros[1024];
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_kernel add;
static cl_mem data;

static void begin(void) {
    cl_platform_id platform;
    cl_int status;
    clGetPlatformIDs(1, &platform, NULL);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) exit(99);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &status);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    add = clCreateKernel(program, "add", &status);
    data = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &status);
    clSetKernelArg(add, 0, sizeof data, &data);
}

static void enqueue(cl_event *event) {
    const size_t items = 1024;
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, event);
}

static void say(const char *text) {
    puts(text);
    fflush(stdout);
}

static void *enqueue_for_ever(void *unused) {
    for (;;) enqueue(NULL);
    return unused;
}

static void CL_CALLBACK leave(cl_event event, cl_int status, void *unused) {
    say("in the callback");
    exit(3);
}

static void at_exit(void) {
    enqueue(NULL);
    clFinish(queue);
    clReleaseMemObject(data);
    say("at exit");
}

static int forked(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        begin();
        enqueue(NULL);
        clFinish(queue);
        say("child");
        exit(4);
    }
    waitpid(child, &status, 0);
    begin();
    enqueue(NULL);
    clFinish(queue);
    child = fork();
    if (child == 0) _exit(5);
    int second = 0;
    waitpid(child, &second, 0);
    printf("parent %d %d\n", WEXITSTATUS(status), WEXITSTATUS(second));
    return 6;
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "";
    if (strcmp(way, "forked") == 0) return forked();
    begin();
    if (strcmp(way, "threads") == 0) {
        pthread_t threads[2];
        for (int number = 0; number < 2; ++number) pthread_create(&threads[number], NULL, enqueue_for_ever, NULL);
        for (int round = 0; round < 100; ++round) enqueue(NULL);
        say("others go on");
        exit(7);
    }
    if (strcmp(way, "callback") == 0) {
        cl_event event;
        enqueue(&event);
        clSetEventCallback(event, CL_COMPLETE, leave, NULL);
        clFlush(queue);
        for (;;) pause();
    }
    atexit(at_exit);
    enqueue(NULL);
    return 8;
}
