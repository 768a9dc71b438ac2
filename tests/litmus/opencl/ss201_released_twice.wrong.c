// The owner of a struct and its cleanup helper both release the buffer.
#include "opencl_setup.h"

struct image {
    cl_mem pixels;
    size_t bytes;
};

static void image_close(struct image *image) {
    clReleaseMemObject(image->pixels);  // expect: SS201
}

int main(void) {
    struct gpu gpu = gpu_open("__kernel void nothing(void) {}");
    cl_command_queue queue = gpu_queue(&gpu, 0);
    struct image image = {gpu_buffer(&gpu, 4096), 4096};
    char zero = 0;
    CL_CHECK(clEnqueueFillBuffer(queue, image.pixels, &zero, 1, 0, image.bytes, 0, NULL, NULL));
    CL_CHECK(clFinish(queue));
    clReleaseMemObject(image.pixels);
    image_close(&image);
    clReleaseCommandQueue(queue);
    gpu_close(&gpu);
    return 0;
}
