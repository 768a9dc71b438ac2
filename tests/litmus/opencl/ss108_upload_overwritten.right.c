// One staging array for all batches: the next batch is written into it while the last one may still be read.
#include "opencl_setup.h"

enum { COUNT = 2048, BATCHES = 4 };

static float staging[COUNT];

static void prepare(int batch) {
    for (int i = 0; i < COUNT; ++i) staging[i] = (float)(batch * i);
}

int main(void) {
    struct gpu gpu = gpu_open("__kernel void nothing(void) {}");
    cl_command_queue queue = gpu_queue(&gpu, 0);
    cl_mem batches[BATCHES];
    for (int b = 0; b < BATCHES; ++b) batches[b] = gpu_buffer(&gpu, sizeof staging);
    for (int b = 0; b < BATCHES; ++b) {
        cl_event uploaded;
        prepare(b);
        CL_CHECK(clEnqueueWriteBuffer(queue, batches[b], CL_FALSE, 0, sizeof staging, staging, 0, NULL, &uploaded));
        CL_CHECK(clWaitForEvents(1, &uploaded));
        clReleaseEvent(uploaded);
    }
    CL_CHECK(clFinish(queue));
    for (int b = 0; b < BATCHES; ++b) clReleaseMemObject(batches[b]);
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
