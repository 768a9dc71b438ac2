/* What every program of this folder begins with: a device, a context, a program, and a check of each call. */
#ifndef OPENCL_SETUP_H
#define OPENCL_SETUP_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 200
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define CL_CHECK(call)                                                              \
    do {                                                                            \
        cl_int status_ = (call);                                                    \
        if (status_ != CL_SUCCESS) {                                                \
            fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, (int)status_); \
            exit(EXIT_FAILURE);                                                     \
        }                                                                           \
    } while (0)

struct gpu {
    cl_device_id device;
    cl_context context;
    cl_program program;
};

static inline struct gpu gpu_open(const char *source) {
    struct gpu gpu;
    cl_platform_id platform;
    cl_int status;
    CL_CHECK(clGetPlatformIDs(1, &platform, NULL));
    CL_CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &gpu.device, NULL));
    gpu.context = clCreateContext(NULL, 1, &gpu.device, NULL, NULL, &status);
    CL_CHECK(status);
    gpu.program = clCreateProgramWithSource(gpu.context, 1, &source, NULL, &status);
    CL_CHECK(status);
    CL_CHECK(clBuildProgram(gpu.program, 1, &gpu.device, NULL, NULL, NULL));
    return gpu;
}

static inline cl_command_queue gpu_queue(const struct gpu *gpu, cl_command_queue_properties properties) {
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(gpu->context, gpu->device, properties, &status);
    CL_CHECK(status);
    return queue;
}

static inline cl_mem gpu_buffer(const struct gpu *gpu, size_t bytes) {
    cl_int status;
    cl_mem buffer = clCreateBuffer(gpu->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    CL_CHECK(status);
    return buffer;
}

static inline cl_kernel gpu_kernel(const struct gpu *gpu, const char *name) {
    cl_int status;
    cl_kernel kernel = clCreateKernel(gpu->program, name, &status);
    CL_CHECK(status);
    return kernel;
}

static inline void gpu_close(struct gpu *gpu) {
    clReleaseProgram(gpu->program);
    clReleaseContext(gpu->context);
}

#endif
