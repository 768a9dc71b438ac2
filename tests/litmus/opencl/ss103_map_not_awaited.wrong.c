// A non-blocking map gives the pointer at once; the memory behind it is the host's once the command is complete.
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
    size_t global = 1024, bytes = global * sizeof(float);
    cl_mem buffer = gpu_buffer(&gpu, bytes);
    float value = 4.0f;
    cl_int status;
    cl_event mapped;
    CL_CHECK(clSetKernelArg(fill, 0, sizeof(buffer), &buffer));
    CL_CHECK(clSetKernelArg(fill, 1, sizeof(value), &value));
    CL_CHECK(clEnqueueNDRangeKernel(queue, fill, 1, NULL, &global, NULL, 0, NULL, NULL));
    float *view = (float *)clEnqueueMapBuffer(queue, buffer, CL_FALSE, CL_MAP_READ, 0, bytes, 0, NULL, &mapped, &status);
    CL_CHECK(status);
    CL_CHECK(clFlush(queue));
    printf("%f\n", view[0]);  // expect: SS103
    CL_CHECK(clEnqueueUnmapMemObject(queue, buffer, view, 0, NULL, NULL));
    CL_CHECK(clFinish(queue));
    clReleaseEvent(mapped);
    clReleaseMemObject(buffer);
    clReleaseKernel(fill);
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
