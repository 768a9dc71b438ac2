// clSVMFree does not wait for the kernel; clEnqueueSVMFree is a command of the queue.
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

struct job {
    cl_command_queue queue;
    cl_context context;
    float *data;
};

static void job_start(struct job *job, cl_kernel kernel, size_t count) {
    float value = 1.0f;
    job->data = (float *)clSVMAlloc(job->context, CL_MEM_READ_WRITE, count * sizeof(float), 0);
    CL_CHECK(clSetKernelArgSVMPointer(kernel, 0, job->data));
    CL_CHECK(clSetKernelArg(kernel, 1, sizeof(value), &value));
    CL_CHECK(clEnqueueNDRangeKernel(job->queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
}

static void job_end(struct job *job) {
    clSVMFree(job->context, job->data);  // expect: SS102
    CL_CHECK(clFinish(job->queue));
}

int main(void) {
    struct gpu gpu = gpu_open(source);
    struct job job = {gpu_queue(&gpu, 0), gpu.context, NULL};
    cl_kernel fill = gpu_kernel(&gpu, "fill");
    job_start(&job, fill, 1 << 16);
    job_end(&job);
    clReleaseKernel(fill);
    clReleaseCommandQueue(job.queue);
    gpu_close(&gpu);
    return 0;
}
