// Two uploads, one kernel that needs both, and a wait list with one of their events.
#include "opencl_setup.h"

static const char *source =
    "__kernel void scale(__global const float *in, __global float *out, float factor) {\n"
    "    size_t i = get_global_id(0);\n"
    "    out[i] = in[i] * factor;\n"
    "}\n"
    "__kernel void fill(__global float *out, float value) { out[get_global_id(0)] = value; }\n"
    "__kernel void add(__global float *sum, __global const float *x) {\n"
    "    size_t i = get_global_id(0);\n"
    "    sum[i] += x[i];\n"
    "}\n";

enum { COUNT = 4096, BYTES = COUNT * sizeof(float) };

static float left[COUNT], right[COUNT];

int main(void) {
    struct gpu gpu = gpu_open(source);
    cl_command_queue transfers = gpu_queue(&gpu, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_command_queue compute = gpu_queue(&gpu, 0);
    cl_kernel add = gpu_kernel(&gpu, "add");
    cl_mem sum = gpu_buffer(&gpu, BYTES), x = gpu_buffer(&gpu, BYTES);
    cl_event uploads[2];
    size_t global = COUNT;
    CL_CHECK(clEnqueueWriteBuffer(transfers, sum, CL_FALSE, 0, BYTES, left, 0, NULL, &uploads[0]));
    CL_CHECK(clEnqueueWriteBuffer(transfers, x, CL_FALSE, 0, BYTES, right, 0, NULL, &uploads[1]));
    CL_CHECK(clFlush(transfers));
    CL_CHECK(clSetKernelArg(add, 0, sizeof(sum), &sum));
    CL_CHECK(clSetKernelArg(add, 1, sizeof(x), &x));
    CL_CHECK(clEnqueueNDRangeKernel(compute, add, 1, NULL, &global, NULL, 1, uploads, NULL));  // expect: SS109
    CL_CHECK(clFinish(compute));
    CL_CHECK(clFinish(transfers));
    for (int i = 0; i < 2; ++i) clReleaseEvent(uploads[i]);
    clReleaseMemObject(sum);
    clReleaseMemObject(x);
    clReleaseKernel(add);
    clReleaseCommandQueue(transfers);
    clReleaseCommandQueue(compute);
    gpu_close(&gpu);
    return 0;
}
