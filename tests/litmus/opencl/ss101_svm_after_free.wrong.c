// Shared virtual memory is given back before the last kernel that was set up with it.
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
    cl_command_queue queue = gpu_queue(&gpu, 0);
    cl_kernel fill = gpu_kernel(&gpu, "fill");
    size_t global = 1024;
    float value = 3.0f;
    float *data = (float *)clSVMAlloc(gpu.context, CL_MEM_READ_WRITE, global * sizeof(float), 0);
    CL_CHECK(clSetKernelArgSVMPointer(fill, 0, data));
    CL_CHECK(clSetKernelArg(fill, 1, sizeof(value), &value));
    CL_CHECK(clEnqueueNDRangeKernel(queue, fill, 1, NULL, &global, NULL, 0, NULL, NULL));
    CL_CHECK(clFinish(queue));
    clSVMFree(gpu.context, data);
    CL_CHECK(clEnqueueNDRangeKernel(queue, fill, 1, NULL, &global, NULL, 0, NULL, NULL));  // expect: SS101
    CL_CHECK(clFinish(queue));
    clReleaseKernel(fill);
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
