// A marker waits for what came before; only a barrier lets later commands of an out-of-order queue wait.
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

enum { COUNT = 4096 };

static void launch(cl_command_queue queue, cl_kernel kernel) {
    size_t global = COUNT;
    CL_CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));  // expect: SS109
}

int main(void) {
    struct gpu gpu = gpu_open(source);
    cl_command_queue queue = gpu_queue(&gpu, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_kernel fill = gpu_kernel(&gpu, "fill"), scale = gpu_kernel(&gpu, "scale");
    cl_mem in = gpu_buffer(&gpu, COUNT * sizeof(float)), out = gpu_buffer(&gpu, COUNT * sizeof(float));
    float value = 4.0f;
    CL_CHECK(clSetKernelArg(fill, 0, sizeof(in), &in));
    CL_CHECK(clSetKernelArg(fill, 1, sizeof(value), &value));
    CL_CHECK(clSetKernelArg(scale, 0, sizeof(in), &in));
    CL_CHECK(clSetKernelArg(scale, 1, sizeof(out), &out));
    CL_CHECK(clSetKernelArg(scale, 2, sizeof(value), &value));
    launch(queue, fill);
    CL_CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL));
    launch(queue, scale);
    CL_CHECK(clFinish(queue));
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    clReleaseKernel(fill);
    clReleaseKernel(scale);
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
