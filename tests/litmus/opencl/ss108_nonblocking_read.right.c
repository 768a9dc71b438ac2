// The result is printed while the non-blocking read may still be under way.
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

enum { COUNT = 1024 };

static float download(cl_command_queue queue, cl_mem buffer, float *host) {
    CL_CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, COUNT * sizeof(float), host, 0, NULL, NULL));
    return host[10];
}

int main(void) {
    struct gpu gpu = gpu_open(source);
    cl_command_queue queue = gpu_queue(&gpu, 0);
    cl_kernel fill = gpu_kernel(&gpu, "fill");
    cl_mem buffer = gpu_buffer(&gpu, COUNT * sizeof(float));
    float *host = (float *)malloc(COUNT * sizeof(float));
    float value = 4.0f;
    size_t global = COUNT;
    CL_CHECK(clSetKernelArg(fill, 0, sizeof(buffer), &buffer));
    CL_CHECK(clSetKernelArg(fill, 1, sizeof(value), &value));
    CL_CHECK(clEnqueueNDRangeKernel(queue, fill, 1, NULL, &global, NULL, 0, NULL, NULL));
    printf("%f\n", download(queue, buffer, host));
    clReleaseMemObject(buffer);
    clReleaseKernel(fill);
    clReleaseCommandQueue(queue);
    free(host);
    gpu_close(&gpu);
    return 0;
}
