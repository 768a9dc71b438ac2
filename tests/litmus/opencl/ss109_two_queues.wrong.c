// A producer and a consumer queue: a flush is no order between them, an event in the wait list is.
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

struct pipeline {
    cl_command_queue producer, consumer;
    cl_mem input, output;
    cl_kernel fill, scale;
};

static void produce(struct pipeline *p, float value, cl_event *done) {
    size_t global = COUNT;
    CL_CHECK(clSetKernelArg(p->fill, 0, sizeof(cl_mem), &p->input));
    CL_CHECK(clSetKernelArg(p->fill, 1, sizeof(float), &value));
    CL_CHECK(clEnqueueNDRangeKernel(p->producer, p->fill, 1, NULL, &global, NULL, 0, NULL, done));
    CL_CHECK(clFlush(p->producer));
}

static void consume(struct pipeline *p, cl_uint count, const cl_event *after) {
    size_t global = COUNT;
    float factor = 0.5f;
    CL_CHECK(clSetKernelArg(p->scale, 0, sizeof(cl_mem), &p->input));
    CL_CHECK(clSetKernelArg(p->scale, 1, sizeof(cl_mem), &p->output));
    CL_CHECK(clSetKernelArg(p->scale, 2, sizeof(float), &factor));
    CL_CHECK(clEnqueueNDRangeKernel(p->consumer, p->scale, 1, NULL, &global, NULL, count, after, NULL));  // expect: SS109
}

int main(void) {
    struct gpu gpu = gpu_open(source);
    struct pipeline p;
    cl_event produced;
    p.producer = gpu_queue(&gpu, 0);
    p.consumer = gpu_queue(&gpu, 0);
    p.input = gpu_buffer(&gpu, COUNT * sizeof(float));
    p.output = gpu_buffer(&gpu, COUNT * sizeof(float));
    p.fill = gpu_kernel(&gpu, "fill");
    p.scale = gpu_kernel(&gpu, "scale");
    produce(&p, 2.0f, &produced);
    consume(&p, 0, NULL);
    CL_CHECK(clFinish(p.consumer));
    CL_CHECK(clFinish(p.producer));
    clReleaseEvent(produced);
    clReleaseMemObject(p.input);
    clReleaseMemObject(p.output);
    clReleaseKernel(p.fill);
    clReleaseKernel(p.scale);
    clReleaseCommandQueue(p.producer);
    clReleaseCommandQueue(p.consumer);
    gpu_close(&gpu);
    return 0;
}
