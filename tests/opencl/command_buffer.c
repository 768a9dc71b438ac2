// Two kernels and a copy in a command buffer, on a runtime that has them. The word that is given says what is done
// wrong; test_command_buffers.py runs it.
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1024 };
static const char *const source =
    "__kernel void add(__global float *data) { data[get_global_id(0)] += 1; }\n"
    "__kernel void sum(__global const float *from, __global float *to) {\n"
    "    to[get_global_id(0)] += from[get_global_id(0)];\n"
    "}\n";

// Of cl_khr_command_buffer 0.9.0.
typedef struct Buffer *Buffer;
typedef cl_uint Point;
typedef Buffer Create(cl_uint, const cl_command_queue *, const void *, cl_int *);
typedef cl_int End(Buffer);
typedef cl_int Enqueue(cl_uint, cl_command_queue *, Buffer, cl_uint, const cl_event *, cl_event *);
typedef cl_int Kernel(Buffer, cl_command_queue, const void *, cl_kernel, cl_uint, const size_t *, const size_t *,
                      const size_t *, cl_uint, const Point *, Point *, void *);
typedef cl_int Copy(Buffer, cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const Point *, Point *,
                    void *);

int main(int count, char **words) {
    const char *wrong = count > 1 ? words[1] : "";
    cl_platform_id platform;
    cl_device_id device;
    cl_int status = clGetPlatformIDs(1, &platform, NULL);
    if (status == CL_SUCCESS) status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    static char extensions[1 << 16];
    if (status == CL_SUCCESS)
        clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    if (strstr(extensions, "cl_khr_command_buffer") == NULL) return 77;
#define FUNCTION(type, name) (type *)clGetExtensionFunctionAddressForPlatform(platform, name)
    Create *create = FUNCTION(Create, "clCreateCommandBufferKHR");
    End *finalize = FUNCTION(End, "clFinalizeCommandBufferKHR"), *release = FUNCTION(End, "clReleaseCommandBufferKHR");
    Enqueue *enqueue = FUNCTION(Enqueue, "clEnqueueCommandBufferKHR");
    Kernel *add_kernel = FUNCTION(Kernel, "clCommandNDRangeKernelKHR");
    Copy *add_copy = FUNCTION(Copy, "clCommandCopyBufferKHR");

    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_command_queue other = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &status);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel add = clCreateKernel(program, "add", &status), sum = clCreateKernel(program, "sum", &status);
    static float zeros[COUNT], result[COUNT];
    cl_mem data[3];
    for (int number = 0; number < 3; ++number)
        data[number] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &status);
    clSetKernelArg(add, 0, sizeof data[0], &data[0]);
    clSetKernelArg(sum, 0, sizeof data[0], &data[0]);
    clSetKernelArg(sum, 1, sizeof data[1], &data[1]);

    const size_t items = COUNT;
    Point points[2];
    Buffer buffer = create(1, &queue, NULL, &status);
    add_kernel(buffer, NULL, NULL, add, 1, NULL, &items, NULL, 0, NULL, &points[0], NULL);
    add_kernel(buffer, NULL, NULL, sum, 1, NULL, &items, NULL, 1, &points[0], &points[1], NULL);
    add_copy(buffer, NULL, data[1], data[2], 0, 0, sizeof zeros, 1, &points[1], NULL, NULL);
    finalize(buffer);
    const int freed = strcmp(wrong, "argument") == 0;
    if (freed) clReleaseMemObject(data[0]);

    cl_event done;
    status = enqueue(0, NULL, buffer, 0, NULL, &done);  // expect of argument: SS101
    const int waits = strcmp(wrong, "copy") != 0 && strcmp(wrong, "kernel") != 0;
    const int read = strcmp(wrong, "kernel") == 0 ? 0 : 2;
    clEnqueueReadBuffer(other, data[read], CL_TRUE, 0, sizeof result, result, waits, waits ? &done : NULL, NULL);  // expect of copy, kernel: SS109
    clWaitForEvents(1, &done);  // a command buffer that is still pending is not taken again
    status |= enqueue(0, NULL, buffer, 0, NULL, NULL);
    clFinish(queue);
    clEnqueueReadBuffer(queue, data[1], CL_TRUE, 0, sizeof result, result, 0, NULL, NULL);
    if (!freed) printf("%d %g\n", status, result[COUNT - 1]);

    clReleaseEvent(done);
    release(buffer);
    for (int number = freed ? 1 : 0; number < 3; ++number) clReleaseMemObject(data[number]);
    clReleaseKernel(add);
    clReleaseKernel(sum);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseCommandQueue(other);
    clReleaseContext(context);
    return 0;
}
