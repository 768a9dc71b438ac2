// The callback of an event waits for a queue: a callback must not make blocking calls.
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

struct task {
    cl_command_queue queue;
    cl_mem buffer;
    float *host;
    size_t bytes;
    cl_event sent;
};

static void CL_CALLBACK computed(cl_event event, cl_int status, void *data) {
    struct task *task = (struct task *)data;
    (void)event;
    if (status != CL_COMPLETE) return;
    clEnqueueReadBuffer(task->queue, task->buffer, CL_FALSE, 0, task->bytes, task->host, 0, NULL, NULL);
    clFinish(task->queue);  // expect: SS209
    clSetUserEventStatus(task->sent, CL_COMPLETE);
}

int main(void) {
    struct gpu gpu = gpu_open(source);
    cl_kernel fill = gpu_kernel(&gpu, "fill");
    size_t global = 1024;
    struct task task = {gpu_queue(&gpu, 0), gpu_buffer(&gpu, 4096), (float *)malloc(4096), 4096, NULL};
    task.sent = clCreateUserEvent(gpu.context, NULL);
    float value = 2.0f;
    cl_event done;
    CL_CHECK(clSetKernelArg(fill, 0, sizeof(task.buffer), &task.buffer));
    CL_CHECK(clSetKernelArg(fill, 1, sizeof(value), &value));
    CL_CHECK(clEnqueueNDRangeKernel(task.queue, fill, 1, NULL, &global, NULL, 0, NULL, &done));
    CL_CHECK(clSetEventCallback(done, CL_COMPLETE, computed, &task));
    CL_CHECK(clFlush(task.queue));
    CL_CHECK(clWaitForEvents(1, &done));
    CL_CHECK(clWaitForEvents(1, &task.sent));
    CL_CHECK(clFinish(task.queue));
    free(task.host);
    clReleaseEvent(task.sent);
    clReleaseEvent(done);
    clReleaseMemObject(task.buffer);
    clReleaseKernel(fill);
    clReleaseCommandQueue(task.queue);
    gpu_close(&gpu);
    return 0;
}
