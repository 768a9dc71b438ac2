// A slot of a ring gets a larger buffer; the kernel object still holds the old one.
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

enum { SLOTS = 3 };

struct slot {
    cl_mem buffer;
    size_t count;
    cl_kernel kernel;
};

static void bind(struct slot *slot, float value) {
    CL_CHECK(clSetKernelArg(slot->kernel, 0, sizeof(slot->buffer), &slot->buffer));
    CL_CHECK(clSetKernelArg(slot->kernel, 1, sizeof(value), &value));
}

static void grow(const struct gpu *gpu, struct slot *slot, size_t count) {
    clReleaseMemObject(slot->buffer);
    slot->buffer = gpu_buffer(gpu, count * sizeof(float));
    slot->count = count;
    bind(slot, 2.0f);
}

static void run(cl_command_queue queue, const struct slot *slot) {
    CL_CHECK(clEnqueueNDRangeKernel(queue, slot->kernel, 1, NULL, &slot->count, NULL, 0, NULL, NULL));
}

int main(void) {
    struct gpu gpu = gpu_open(source);
    cl_command_queue queue = gpu_queue(&gpu, 0);
    struct slot ring[SLOTS];
    for (int i = 0; i < SLOTS; ++i) {
        ring[i].count = 256;
        ring[i].buffer = gpu_buffer(&gpu, ring[i].count * sizeof(float));
        ring[i].kernel = gpu_kernel(&gpu, "fill");
        bind(&ring[i], 1.0f);
    }
    CL_CHECK(clFinish(queue));
    grow(&gpu, &ring[1], 512);
    run(queue, &ring[1]);
    CL_CHECK(clFinish(queue));
    for (int i = 0; i < SLOTS; ++i) {
        clReleaseMemObject(ring[i].buffer);
        clReleaseKernel(ring[i].kernel);
    }
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
