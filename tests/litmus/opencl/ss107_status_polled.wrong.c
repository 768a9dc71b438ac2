// The host polls the status of an event: that is no synchronisation point, a wait is.
#include "opencl_setup.h"

enum { COUNT = 1024 };

static int is_complete(cl_event event) {
    cl_int status = CL_QUEUED;
    CL_CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    return status == CL_COMPLETE;
}

int main(void) {
    struct gpu gpu = gpu_open("__kernel void nothing(void) {}");
    cl_command_queue queue = gpu_queue(&gpu, 0);
    cl_mem buffer = gpu_buffer(&gpu, COUNT * sizeof(int));
    int *host = (int *)malloc(COUNT * sizeof(int));
    int seven = 7;
    cl_event downloaded;
    CL_CHECK(clEnqueueFillBuffer(queue, buffer, &seven, sizeof seven, 0, COUNT * sizeof(int), 0, NULL, NULL));
    CL_CHECK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, COUNT * sizeof(int), host, 0, NULL, &downloaded));
    CL_CHECK(clFlush(queue));
    while (!is_complete(downloaded)) {
    }
    printf("%d\n", host[1]);  // expect: SS107
    clReleaseEvent(downloaded);
    CL_CHECK(clFinish(queue));
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    free(host);
    gpu_close(&gpu);
    return 0;
}
