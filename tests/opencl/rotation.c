// A long program whose recording has a limit: what was made at the begin is used at the end. The word `wrong` leaves the
// waits out; test_opencl_rotation.py runs it.
#include <CL/cl.h>

#include <stdio.h>
#include <string.h>

enum { COUNT = 1024, STEPS = 12000 };
static const char *const source = "__kernel void add(__global float *data) { data[get_global_id(0)] += 1; }\n";

int main(int count, char **words) {
    const int wrong = count > 1 && strcmp(words[1], "wrong") == 0;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status = clGetPlatformIDs(1, &platform, NULL);
    if (status == CL_SUCCESS) status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    if (status != CL_SUCCESS) return 9;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_command_queue other = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &status);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel add = clCreateKernel(program, "add", &status);
    static float zeros[COUNT], result[COUNT];
    const size_t bytes = sizeof zeros, items = COUNT;
    cl_mem data = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, zeros, &status);
    cl_mem mapped = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, zeros, &status);
    cl_mem over = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, bytes, zeros, &status);
    float *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    // Pointers that are mapped and unmapped, where the memory itself stays.
    clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, shared, bytes, 0, NULL, NULL);
    clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL);
    void *once = clEnqueueMapBuffer(queue, over, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &status);
    clEnqueueUnmapMemObject(queue, over, once, 0, NULL, NULL);
    float *pointer = clEnqueueMapBuffer(queue, mapped, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &status);
    clFinish(queue);

    for (int step = 0; step < STEPS; ++step) {
        cl_event done;
        clEnqueueFillBuffer(queue, data, zeros, sizeof zeros[0], 0, bytes, 0, NULL, &done);
        if (step % 256 == 0) clWaitForEvents(1, &done);
        clReleaseEvent(done);
    }
    clFinish(queue);

    clSetKernelArg(add, 0, sizeof mapped, &mapped);
    if (!wrong) clEnqueueUnmapMemObject(queue, mapped, pointer, 0, NULL, NULL);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL);  // expect: SS108
    if (wrong) clEnqueueUnmapMemObject(queue, mapped, pointer, 0, NULL, NULL);
    clSetKernelArg(add, 0, sizeof data, &data);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL);
    if (!wrong) clFinish(queue);
    clEnqueueReadBuffer(other, data, CL_TRUE, 0, bytes, result, 0, NULL, NULL);  // expect: SS109
    clSetKernelArgSVMPointer(add, 0, shared);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL);
    if (!wrong) clFinish(queue);
    clEnqueueSVMMemcpy(other, CL_TRUE, result, shared, bytes, 0, NULL, NULL);  // expect: SS109
    clFinish(queue);
    clSVMFree(context, shared);
    clSetKernelArg(add, 0, sizeof over, &over);
    if (wrong) clReleaseMemObject(over);
    if (!wrong) clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL);
    clFinish(queue);
    printf("%d\n", clReleaseMemObject(over));  // expect: SS201
    clReleaseMemObject(data);
    clReleaseMemObject(mapped);
    clReleaseKernel(add);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseCommandQueue(other);
    clReleaseContext(context);
    return 0;
}
