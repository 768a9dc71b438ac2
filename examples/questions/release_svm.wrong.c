// Shared memory is released in another queue than the one that uses it, and nothing orders the two queues.
#include <CL/cl.h>

static const char* text =
    "kernel void twice(global const float* values, global float* results) {\n"
    "    size_t i = get_global_id(0);\n"
    "    results[i] = 2.0f * values[i];\n"
    "}\n";

int main(void) {
    size_t count = 1 << 10;
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue compute = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    cl_command_queue cleanup = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, NULL, NULL, NULL);
    cl_kernel twice = clCreateKernel(program, "twice", NULL);

    void* values = clSVMAlloc(context, CL_MEM_READ_WRITE, count * sizeof(cl_float), 0);
    cl_mem results = clCreateBuffer(context, CL_MEM_READ_WRITE, count * sizeof(cl_float), NULL, NULL);
    clSetKernelArgSVMPointer(twice, 0, values);
    clSetKernelArg(twice, 1, sizeof(results), &results);
    clEnqueueNDRangeKernel(compute, twice, 1, NULL, &count, NULL, 0, NULL, NULL);
    clEnqueueSVMFree(cleanup, 1, &values, NULL, NULL, 0, NULL, NULL);

    clFinish(compute);
    clFinish(cleanup);
    clReleaseMemObject(results);
    clReleaseKernel(twice);
    clReleaseProgram(program);
    clReleaseCommandQueue(cleanup);
    clReleaseCommandQueue(compute);
    clReleaseContext(context);
}
