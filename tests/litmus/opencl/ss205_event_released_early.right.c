// The event is released before the wait list that names it.
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

int main(void) {
    struct gpu gpu = gpu_open(source);
    cl_command_queue upload = gpu_queue(&gpu, 0), compute = gpu_queue(&gpu, 0);
    cl_kernel fill = gpu_kernel(&gpu, "fill");
    size_t global = 1024;
    cl_mem buffer = gpu_buffer(&gpu, global * sizeof(float));
    float value = 1.0f, zero = 0.0f;
    cl_event cleared;
    CL_CHECK(clEnqueueFillBuffer(upload, buffer, &zero, sizeof zero, 0, global * sizeof(float), 0, NULL, &cleared));
    CL_CHECK(clFlush(upload));
    CL_CHECK(clSetKernelArg(fill, 0, sizeof(buffer), &buffer));
    CL_CHECK(clSetKernelArg(fill, 1, sizeof(value), &value));
    CL_CHECK(clEnqueueNDRangeKernel(compute, fill, 1, NULL, &global, NULL, 1, &cleared, NULL));
    clReleaseEvent(cleared);
    CL_CHECK(clFinish(compute));
    CL_CHECK(clFinish(upload));
    clReleaseMemObject(buffer);
    clReleaseKernel(fill);
    clReleaseCommandQueue(upload);
    clReleaseCommandQueue(compute);
    gpu_close(&gpu);
    return 0;
}
