// Two queues work on shared virtual memory; before it goes only one of them is waited for.
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
    cl_command_queue compute = gpu_queue(&gpu, 0), copies = gpu_queue(&gpu, 0);
    cl_kernel fill = gpu_kernel(&gpu, "fill");
    size_t global = 4096, bytes = global * sizeof(float);
    float value = 1.0f;
    float *work = (float *)clSVMAlloc(gpu.context, CL_MEM_READ_WRITE, bytes, 0);
    float *kept = (float *)clSVMAlloc(gpu.context, CL_MEM_READ_WRITE, bytes, 0);
    cl_event filled;
    CL_CHECK(clSetKernelArgSVMPointer(fill, 0, work));
    CL_CHECK(clSetKernelArg(fill, 1, sizeof(value), &value));
    CL_CHECK(clEnqueueNDRangeKernel(compute, fill, 1, NULL, &global, NULL, 0, NULL, &filled));
    CL_CHECK(clFlush(compute));
    CL_CHECK(clEnqueueSVMMemcpy(copies, CL_FALSE, kept, work, bytes, 1, &filled, NULL));
    CL_CHECK(clFinish(copies));
    clSVMFree(gpu.context, work);
    clSVMFree(gpu.context, kept);
    clReleaseEvent(filled);
    clReleaseKernel(fill);
    clReleaseCommandQueue(compute);
    clReleaseCommandQueue(copies);
    gpu_close(&gpu);
    return 0;
}
