/* A packed record: the header is read through casts of the mapped pointer. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define OK(x) do { cl_int r_ = (x); if (r_) { fprintf(stderr, "line %d: %d\n", __LINE__, r_); exit(2); } } while (0)
#define BYTES 4096
#define AT(base, offset, type) (*(const type *)((const char *)(base) + (offset)))

static const char *text =
    "__kernel void pack(__global uint *record, uint id) {\n"
    "  uint i = get_global_id(0); record[i] = i < 4 ? id + i : i; }\n";

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    OK(clGetPlatformIDs(1, &platform, NULL));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    OK(status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    OK(status);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    OK(status);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel pack = clCreateKernel(program, "pack", &status);
    OK(status);
    cl_mem record = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    OK(status);
    cl_uint id = 77;
    size_t items = BYTES / sizeof(cl_uint);
    OK(clSetKernelArg(pack, 0, sizeof record, &record));
    OK(clSetKernelArg(pack, 1, sizeof id, &id));
    OK(clEnqueueNDRangeKernel(queue, pack, 1, NULL, &items, NULL, 0, NULL, NULL));
    cl_event mapped;
    void *view = clEnqueueMapBuffer(queue, record, CL_FALSE, CL_MAP_READ, 0, BYTES, 0, NULL, &mapped, &status);
    OK(status);
    OK(clWaitForEvents(1, &mapped));
    uint32_t number = AT(view, 8, uint32_t);
    puts(number == 79 ? "ok" : "wrong");
    OK(clEnqueueUnmapMemObject(queue, record, view, 0, NULL, NULL));
    OK(clFinish(queue));
    clReleaseEvent(mapped);
    clReleaseMemObject(record);
    clReleaseKernel(pack);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
