// On an out-of-order queue the order of the calls is none: the read waits for nothing.
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

enum { COUNT = 8192 };

int main(void) {
    struct gpu gpu = gpu_open(source);
    cl_command_queue queue = gpu_queue(&gpu, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_kernel fill = gpu_kernel(&gpu, "fill");
    cl_mem buffer = gpu_buffer(&gpu, COUNT * sizeof(float));
    static float host[COUNT];
    float value = 4.0f;
    size_t global = COUNT;
    cl_event filled;
    CL_CHECK(clSetKernelArg(fill, 0, sizeof(buffer), &buffer));
    CL_CHECK(clSetKernelArg(fill, 1, sizeof(value), &value));
    CL_CHECK(clEnqueueNDRangeKernel(queue, fill, 1, NULL, &global, NULL, 0, NULL, &filled));
    CL_CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof host, host, 1, &filled, NULL));
    printf("%f\n", host[100]);
    clReleaseEvent(filled);
    clReleaseMemObject(buffer);
    clReleaseKernel(fill);
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
