// The release waits for the kernel: its event is in the wait list.
#include <CL/cl.h>

static const char* text = "kernel void scale(global float* values) { values[get_global_id(0)] *= 2.0f; }";

int main(void) {
    size_t count = 1 << 16;
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue compute = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    cl_command_queue cleanup = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, NULL, NULL, NULL);
    cl_kernel scale = clCreateKernel(program, "scale", NULL);

    void* values = clSVMAlloc(context, CL_MEM_READ_WRITE, count * sizeof(cl_float), 0);
    clSetKernelArgSVMPointer(scale, 0, values);
    cl_event scaled;
    clEnqueueNDRangeKernel(compute, scale, 1, NULL, &count, NULL, 0, NULL, &scaled);
    clFlush(compute);
    clEnqueueSVMFree(cleanup, 1, &values, NULL, NULL, 1, &scaled, NULL);
    clReleaseEvent(scaled);

    clFinish(cleanup);
    clReleaseKernel(scale);
    clReleaseProgram(program);
    clReleaseCommandQueue(cleanup);
    clReleaseCommandQueue(compute);
    clReleaseContext(context);
}
