// While a command waits for a user event that is not set, only events may be released.
#include "opencl_setup.h"

enum { COUNT = 1024 };

int main(void) {
    struct gpu gpu = gpu_open("__kernel void nothing(void) {}");
    cl_command_queue queue = gpu_queue(&gpu, 0);
    cl_int status;
    static float host[COUNT];
    cl_mem buffer = gpu_buffer(&gpu, sizeof host), old = gpu_buffer(&gpu, sizeof host);
    cl_event loaded = clCreateUserEvent(gpu.context, &status);
    CL_CHECK(status);
    CL_CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof host, host, 1, &loaded, NULL));
    for (int i = 0; i < COUNT; ++i) host[i] = (float)i;
    CL_CHECK(clSetUserEventStatus(loaded, CL_COMPLETE));
    clReleaseMemObject(old);
    CL_CHECK(clFinish(queue));
    clReleaseEvent(loaded);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
