// A loop of tiny enqueues, from two call sites; prints nanoseconds of each, with the wait at the end.
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *source = "__kernel void nothing(__global float *data) { if (get_global_id(0) == 99) data[0] = 1; }";

int main(int arguments, char **words) {
    const int rounds = arguments > 1 ? atoi(words[1]) : 100000;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL)) return 1;
    cl_kernel kernel = clCreateKernel(program, "nothing", &status);
    cl_mem data = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    clSetKernelArg(kernel, 0, sizeof data, &data);
    const size_t one = 1;
    for (int warm = 0; warm < 100; ++warm) clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    clFinish(queue);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int round = 0; round < rounds; round += 2) {
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    }
    clFinish(queue);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.1f\n", ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / rounds);
    return 0;
}
