// The host goes on writing through a pointer that it has given back with the unmap command.
#include "opencl_setup.h"
#include <string.h>

enum { COUNT = 1024 };

int main(void) {
    struct gpu gpu = gpu_open("__kernel void nothing(void) {}");
    cl_command_queue queue = gpu_queue(&gpu, 0);
    cl_int status;
    cl_mem staging = clCreateBuffer(gpu.context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, COUNT * sizeof(int), NULL, &status);
    CL_CHECK(status);
    int *values = (int *)clEnqueueMapBuffer(queue, staging, CL_TRUE, CL_MAP_WRITE, 0, COUNT * sizeof(int), 0, NULL, NULL, &status);
    CL_CHECK(status);
    memset(values, 0, COUNT * sizeof(int));
    CL_CHECK(clEnqueueUnmapMemObject(queue, staging, values, 0, NULL, NULL));
    values[COUNT - 1] = 1;  // expect: SS101
    CL_CHECK(clFinish(queue));
    clReleaseMemObject(staging);
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
