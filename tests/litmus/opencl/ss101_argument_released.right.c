// A helper prepares a kernel and drops its own reference to the buffer: kernels do not retain their arguments.
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

static cl_mem prepare(const struct gpu *gpu, cl_kernel kernel, float value) {
    cl_mem buffer = gpu_buffer(gpu, COUNT * sizeof(float));
    CL_CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffer));
    CL_CHECK(clSetKernelArg(kernel, 1, sizeof(float), &value));
    return buffer;
}

int main(void) {
    struct gpu gpu = gpu_open(source);
    cl_command_queue queue = gpu_queue(&gpu, 0);
    cl_kernel fill = gpu_kernel(&gpu, "fill");
    size_t global = COUNT;
    cl_mem buffer = prepare(&gpu, fill, 1.0f);
    CL_CHECK(clEnqueueNDRangeKernel(queue, fill, 1, NULL, &global, NULL, 0, NULL, NULL));
    clReleaseMemObject(buffer);
    CL_CHECK(clFinish(queue));
    clReleaseKernel(fill);
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
