// Each frame makes a scratch buffer, and none is released.
#include "opencl_setup.h"

static void frame(const struct gpu *gpu, cl_command_queue queue, int number) {
    cl_int status;
    cl_mem scratch = clCreateBuffer(gpu->context, CL_MEM_READ_WRITE, 4096, NULL, &status);  // expect: SS305
    CL_CHECK(status);
    CL_CHECK(clEnqueueFillBuffer(queue, scratch, &number, sizeof number, 0, 4096, 0, NULL, NULL));
    CL_CHECK(clFinish(queue));
}

int main(void) {
    struct gpu gpu = gpu_open("__kernel void nothing(void) {}");
    cl_command_queue queue = gpu_queue(&gpu, 0);
    for (int i = 0; i < 8; ++i) frame(&gpu, queue, i);
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
