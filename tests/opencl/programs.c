// Programs of OpenCL, each wrong in one way or right; `expect` says what is found at which line. tests/opencl runs them
// under `streamsan run`.
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    void (*body)(void);
} Program;
static Program programs[256];
static int program_count;

#define PROGRAM(which)                                                      \
    static void which(void);                                                \
    __attribute__((constructor)) static void add_##which(void) {            \
        programs[program_count].name = #which;                              \
        programs[program_count++].body = which;                             \
    }                                                                       \
    static void which(void)

// One program for all: it is compiled once.
static const char *const source =
    "__kernel void add(__global float *data, float value) { data[get_global_id(0)] += value; }\n"
    "__kernel void sum(__global const float *from, __global float *to) {\n"
    "    to[get_global_id(0)] += from[get_global_id(0)];\n"
    "}\n"
    "__kernel void scale(__global float *data, uint first, const int n) {\n"
    "    const int i = get_global_id(0);\n"
    "    if (i < n) data[first + i] *= 2;\n"
    "}\n"
    "__kernel void shade(write_only image2d_t to) {\n"
    "    write_imagef(to, (int2)(get_global_id(0), get_global_id(1)), (float4)(1));\n"
    "}\n"
    "__kernel void gather(read_only image2d_t from, __global float *to) {\n"
    "    const sampler_t near = CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST;\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    to[at.y * 8 + at.x] = read_imagef(from, near, at).x;\n"
    "}\n";

enum { COUNT = 1024 };
static const size_t count = COUNT, bytes = COUNT * sizeof(float);

static cl_device_id device;
static cl_context context;
static cl_command_queue queue, other, unordered;
static cl_program program;
static cl_kernel add, sum;

// What every program has, and gives back.
static void begin(void) {
    cl_platform_id platform;
    cl_int status = clGetPlatformIDs(1, &platform, NULL);
    if (status == CL_SUCCESS) status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    if (status != CL_SUCCESS) exit(9);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    other = clCreateCommandQueue(context, device, 0, &status);
    unordered = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &status);
    if (clBuildProgram(program, 1, &device, "-cl-kernel-arg-info", NULL, NULL) != CL_SUCCESS) exit(8);
    add = clCreateKernel(program, "add", &status);
    sum = clCreateKernel(program, "sum", &status);
    const float one = 1;
    clSetKernelArg(add, 1, sizeof one, &one);
}

static void end(void) {
    clFinish(queue);
    clFinish(other);
    clFinish(unordered);
    clReleaseKernel(add);
    clReleaseKernel(sum);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseCommandQueue(other);
    clReleaseCommandQueue(unordered);
    clReleaseContext(context);
}

static cl_mem buffer(void) {
    cl_int status;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    const float zero = 0;
    clEnqueueFillBuffer(queue, made, &zero, sizeof zero, 0, bytes, 0, NULL, NULL);
    clFinish(queue);
    return made;
}

static void enqueue_add(cl_command_queue on, cl_mem data, cl_uint waits, const cl_event *list, cl_event *event) {
    clSetKernelArg(add, 0, sizeof data, &data);
    clEnqueueNDRangeKernel(on, add, 1, NULL, &count, NULL, waits, list, event);
}

// -- releases --------------------------------------------------------------------------------------------

PROGRAM(svm_free_wrong) {
    float *data = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    clSetKernelArgSVMPointer(add, 0, data);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 0, NULL, NULL);
    clSVMFree(context, data);  // expect: SS102
}

PROGRAM(svm_free_right) {
    float *data = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    clSetKernelArgSVMPointer(add, 0, data);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 0, NULL, NULL);
    clFinish(queue);
    clSVMFree(context, data);
}

PROGRAM(svm_enqueued_free_right) {
    float *data = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    clSetKernelArgSVMPointer(add, 0, data);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 0, NULL, NULL);
    // PoCL frees the list itself.
    void **list = malloc(sizeof *list);
    *list = data;
    clEnqueueSVMFree(queue, 1, list, NULL, NULL, 0, NULL, NULL);
}

PROGRAM(release_with_pending_commands_right) {
    cl_mem data = buffer();
    enqueue_add(queue, data, 0, NULL, NULL);
    clReleaseMemObject(data);
}

PROGRAM(enqueue_after_release_wrong) {
    cl_mem data = buffer();
    clSetKernelArg(add, 0, sizeof data, &data);
    clReleaseMemObject(data);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 0, NULL, NULL);  // expect: SS101
}

PROGRAM(argument_set_anew_right) {
    cl_mem data = buffer(), next = buffer();
    clSetKernelArg(add, 0, sizeof data, &data);
    clReleaseMemObject(data);
    enqueue_add(queue, next, 0, NULL, NULL);
    clReleaseMemObject(next);
}

PROGRAM(release_twice_wrong) {
    cl_mem data = buffer();
    clReleaseMemObject(data);
    printf("second release: %d\n", clReleaseMemObject(data));  // expect: SS201
}

PROGRAM(release_what_was_retained_right) {
    cl_mem data = buffer();
    clRetainMemObject(data);
    clReleaseMemObject(data);
    printf("second release: %d\n", clReleaseMemObject(data));
}

// -- order -----------------------------------------------------------------------------------------------

PROGRAM(unordered_queue_wrong) {
    cl_mem data = buffer(), to = buffer();
    const float one = 1;
    clEnqueueFillBuffer(unordered, data, &one, sizeof one, 0, bytes, 0, NULL, NULL);
    clEnqueueCopyBuffer(unordered, data, to, 0, 0, bytes, 0, NULL, NULL);  // expect: SS109
    clFinish(unordered);
    clReleaseMemObject(data);
    clReleaseMemObject(to);
}

PROGRAM(unordered_queue_with_event_right) {
    cl_mem data = buffer(), to = buffer();
    const float one = 1;
    cl_event filled;
    clEnqueueFillBuffer(unordered, data, &one, sizeof one, 0, bytes, 0, NULL, &filled);
    clEnqueueCopyBuffer(unordered, data, to, 0, 0, bytes, 1, &filled, NULL);
    clFinish(unordered);
    clReleaseEvent(filled);
    clReleaseMemObject(data);
    clReleaseMemObject(to);
}

PROGRAM(unordered_queue_with_barrier_right) {
    cl_mem data = buffer(), to = buffer();
    const float one = 1;
    clEnqueueFillBuffer(unordered, data, &one, sizeof one, 0, bytes, 0, NULL, NULL);
    clEnqueueBarrierWithWaitList(unordered, 0, NULL, NULL);
    clEnqueueCopyBuffer(unordered, data, to, 0, 0, bytes, 0, NULL, NULL);
    clFinish(unordered);
    clReleaseMemObject(data);
    clReleaseMemObject(to);
}

PROGRAM(unordered_queue_with_marker_right) {
    cl_mem data = buffer(), to = buffer();
    const float one = 1;
    cl_event marked;
    clEnqueueFillBuffer(unordered, data, &one, sizeof one, 0, bytes, 0, NULL, NULL);
    clEnqueueMarkerWithWaitList(unordered, 0, NULL, &marked);
    clEnqueueCopyBuffer(unordered, data, to, 0, 0, bytes, 1, &marked, NULL);
    clFinish(unordered);
    clReleaseEvent(marked);
    clReleaseMemObject(data);
    clReleaseMemObject(to);
}

// The text of the kernel says that it writes: the parameter's type does not.
PROGRAM(kernels_on_two_queues_wrong) {
    cl_mem data = buffer();
    clSetKernelArg(add, 0, sizeof data, &data);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 0, NULL, NULL);
    clEnqueueNDRangeKernel(other, add, 1, NULL, &count, NULL, 0, NULL, NULL);  // expect: SS109
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(data);
}

PROGRAM(kernels_on_two_queues_right) {
    cl_mem data = buffer();
    cl_event added;
    enqueue_add(queue, data, 0, NULL, &added);
    enqueue_add(other, data, 1, &added, NULL);
    clFinish(other);
    clReleaseEvent(added);
    clReleaseMemObject(data);
}

PROGRAM(kernels_that_read_the_same_right) {
    cl_mem from = buffer(), to = buffer(), too = buffer();
    clSetKernelArg(sum, 0, sizeof from, &from);
    clSetKernelArg(sum, 1, sizeof to, &to);
    clEnqueueNDRangeKernel(queue, sum, 1, NULL, &count, NULL, 0, NULL, NULL);
    clSetKernelArg(sum, 1, sizeof too, &too);
    clEnqueueNDRangeKernel(other, sum, 1, NULL, &count, NULL, 0, NULL, NULL);
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(from);
    clReleaseMemObject(to);
    clReleaseMemObject(too);
}

// How far a kernel reaches follows from the numbers that it holds: as many as a part has.
static void enqueue_scale(cl_command_queue on, cl_mem data, cl_uint first, cl_int n) {
    cl_int status;
    cl_kernel scale = clCreateKernel(program, "scale", &status);
    clSetKernelArg(scale, 0, sizeof data, &data);
    clSetKernelArg(scale, 1, sizeof first, &first);
    clSetKernelArg(scale, 2, sizeof n, &n);
    clEnqueueNDRangeKernel(on, scale, 1, NULL, &count, NULL, 0, NULL, NULL);
    clReleaseKernel(scale);
}

PROGRAM(kernels_with_numbers_on_halves_right) {
    cl_mem data = buffer();
    enqueue_scale(queue, data, 0, COUNT / 2);
    enqueue_scale(other, data, COUNT / 2, COUNT / 2);
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(data);
}

PROGRAM(kernels_with_sizes_on_halves_wrong) {
    cl_mem data = buffer();
    const size_t half = COUNT / 2, before = half - 1;
    clSetKernelArg(add, 0, sizeof data, &data);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &half, NULL, 0, NULL, NULL);
    clEnqueueNDRangeKernel(other, add, 1, &before, &half, NULL, 0, NULL, NULL);  // expect: SS109
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(data);
}

// Numbers that are other ones each time: at some point they are left out, and nothing is accused for it.
PROGRAM(kernels_with_many_numbers_right) {
    cl_mem data = buffer();
    cl_int status;
    const cl_int one = 1;
    cl_kernel scale = clCreateKernel(program, "scale", &status);
    clSetKernelArg(scale, 0, sizeof data, &data);
    clSetKernelArg(scale, 2, sizeof one, &one);
    for (cl_uint first = 0; first < 300; ++first) {
        clSetKernelArg(scale, 1, sizeof first, &first);
        clEnqueueNDRangeKernel(first % 2 ? queue : other, scale, 1, NULL, &count, NULL, 0, NULL, NULL);
    }
    clFinish(queue);
    clFinish(other);
    clReleaseKernel(scale);
    clReleaseMemObject(data);
}

// Two halves of a buffer, by where the indices begin.
PROGRAM(kernels_on_halves_right) {
    cl_mem data = buffer();
    const size_t half = COUNT / 2;
    clSetKernelArg(add, 0, sizeof data, &data);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &half, NULL, 0, NULL, NULL);
    clEnqueueNDRangeKernel(other, add, 1, &half, &half, NULL, 0, NULL, NULL);
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(data);
}

// A program linked from two, with macros in the options of one.
static cl_kernel kernel_of_linked_programs(void) {
    const char *first = "KERNEL void put(__global float *to) { to[get_global_id(0)] = VALUE; }\n";
    const char *second = "__kernel void get(__global const float *from, __global float *to) { to[0] = from[0]; }\n";
    cl_int status;
    cl_program parts[2] = {clCreateProgramWithSource(context, 1, &first, NULL, &status),
                           clCreateProgramWithSource(context, 1, &second, NULL, &status)};
    clCompileProgram(parts[0], 1, &device, "-D VALUE=1.0f -DKERNEL=__kernel", 0, NULL, NULL, NULL, NULL);
    clCompileProgram(parts[1], 1, &device, NULL, 0, NULL, NULL, NULL, NULL);
    cl_program linked = clLinkProgram(context, 1, &device, NULL, 2, parts, NULL, NULL, &status);
    cl_kernel made = clCreateKernel(linked, "get", &status);
    clReleaseProgram(linked);
    clReleaseProgram(parts[0]);
    clReleaseProgram(parts[1]);
    return made;
}

PROGRAM(linked_programs_wrong) {
    cl_mem data = buffer(), to = buffer();
    const float one = 1;
    cl_kernel get = kernel_of_linked_programs();
    clSetKernelArg(get, 0, sizeof data, &data);
    clSetKernelArg(get, 1, sizeof to, &to);
    clEnqueueNDRangeKernel(queue, get, 1, NULL, &count, NULL, 0, NULL, NULL);
    clEnqueueFillBuffer(other, data, &one, sizeof one, 0, bytes, 0, NULL, NULL);  // expect: SS109
    clFinish(queue);
    clFinish(other);
    clReleaseKernel(get);
    clReleaseMemObject(data);
    clReleaseMemObject(to);
}

PROGRAM(two_queues_wrong) {
    cl_mem data = buffer();
    float result[COUNT];
    const float one = 1;
    clEnqueueFillBuffer(queue, data, &one, sizeof one, 0, bytes, 0, NULL, NULL);
    clEnqueueReadBuffer(other, data, CL_TRUE, 0, bytes, result, 0, NULL, NULL);  // expect: SS109
    clFinish(queue);
    clReleaseMemObject(data);
}

PROGRAM(two_queues_with_event_right) {
    cl_mem data = buffer();
    float result[COUNT];
    cl_event added;
    enqueue_add(queue, data, 0, NULL, &added);
    clFlush(queue);
    clEnqueueReadBuffer(other, data, CL_TRUE, 0, bytes, result, 1, &added, NULL);
    clReleaseEvent(added);
    clReleaseMemObject(data);
}

PROGRAM(two_queues_with_wait_of_the_host_right) {
    cl_mem data = buffer();
    float result[COUNT];
    cl_event added;
    enqueue_add(queue, data, 0, NULL, &added);
    clWaitForEvents(1, &added);
    clReleaseEvent(added);
    clEnqueueReadBuffer(other, data, CL_TRUE, 0, bytes, result, 0, NULL, NULL);
    clReleaseMemObject(data);
}

PROGRAM(halves_of_a_buffer_right) {
    cl_mem data = buffer();
    const cl_buffer_region halves[2] = {{0, bytes / 2}, {bytes / 2, bytes / 2}};
    const size_t half = count / 2;
    cl_command_queue queues[2] = {queue, other};
    for (int number = 0; number < 2; ++number) {
        cl_int status;
        cl_mem part =
            clCreateSubBuffer(data, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &halves[number], &status);
        clSetKernelArg(add, 0, sizeof part, &part);
        clEnqueueNDRangeKernel(queues[number], add, 1, NULL, &half, NULL, 0, NULL, NULL);
        clReleaseMemObject(part);
    }
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(data);
}

// Parts that overlap must not be used at once, whichever bytes the kernels touch.
PROGRAM(parts_that_overlap_wrong) {
    cl_mem data = buffer(), parts[2];
    cl_command_queue queues[2] = {queue, other};
    const cl_buffer_region regions[2] = {{0, bytes / 2}, {bytes / 2 - 256, bytes / 2}};
    const size_t half = count / 2;
    cl_int status;
    for (int number = 0; number < 2; ++number)
        parts[number] =
            clCreateSubBuffer(data, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &regions[number], &status);
    for (int number = 0; number < 2; ++number) {
        clSetKernelArg(add, 0, sizeof parts[number], &parts[number]);
        clEnqueueNDRangeKernel(queues[number], add, 1, NULL, &half, NULL, 0, NULL, NULL);  // expect: SS109
    }
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(parts[0]);
    clReleaseMemObject(parts[1]);
    clReleaseMemObject(data);
}

// Counters are updated by atomic operations only.
PROGRAM(counters_in_parts_right) {
    const char *text = "__kernel void tally(__global int *bins) { atomic_inc(&bins[get_global_id(0) % 8]); }";
    const cl_buffer_region region = {0, 256};
    cl_int status;
    cl_mem data = buffer();
    cl_mem bins = clCreateSubBuffer(data, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    cl_program own = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    clBuildProgram(own, 1, &device, "", NULL, NULL);
    cl_kernel tally = clCreateKernel(own, "tally", &status);
    clSetKernelArg(tally, 0, sizeof bins, &bins);
    clEnqueueNDRangeKernel(queue, tally, 1, NULL, &count, NULL, 0, NULL, NULL);
    clEnqueueNDRangeKernel(other, tally, 1, NULL, &count, NULL, 0, NULL, NULL);
    clFinish(queue);
    clFinish(other);
    clReleaseKernel(tally);
    clReleaseProgram(own);
    clReleaseMemObject(bins);
    clReleaseMemObject(data);
}

// A launch without work-items, and a copy of no bytes, do nothing but wait.
PROGRAM(empty_commands_right) {
    cl_mem data = buffer();
    const size_t none = 0;
    clSetKernelArg(add, 0, sizeof data, &data);
    enqueue_add(queue, data, 0, NULL, NULL);
    clEnqueueNDRangeKernel(other, add, 1, NULL, &none, NULL, 0, NULL, NULL);
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(data);
}

PROGRAM(columns_of_a_buffer_right) {
    cl_mem data = buffer();
    float left[16], right[16];
    const size_t from_left[3] = {0, 0, 0}, from_right[3] = {32, 0, 0}, to[3] = {0, 0, 0}, region[3] = {32, 2, 1};
    clEnqueueWriteBufferRect(queue, data, CL_FALSE, from_left, to, region, 64, 0, 32, 0, left, 0, NULL, NULL);
    clEnqueueWriteBufferRect(other, data, CL_FALSE, from_right, to, region, 64, 0, 32, 0, right, 0, NULL, NULL);
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(data);
}

PROGRAM(a_kernel_that_reads_beside_a_copy_that_reads_right) {
    cl_mem data = buffer(), to = buffer();
    float result[COUNT];
    clSetKernelArg(sum, 0, sizeof data, &data);
    clSetKernelArg(sum, 1, sizeof to, &to);
    clEnqueueNDRangeKernel(queue, sum, 1, NULL, &count, NULL, 0, NULL, NULL);
    clEnqueueReadBuffer(other, data, CL_TRUE, 0, bytes, result, 0, NULL, NULL);
    clFinish(queue);
    clReleaseMemObject(data);
    clReleaseMemObject(to);
}

// -- mappings --------------------------------------------------------------------------------------------

PROGRAM(kernel_on_mapped_region_wrong) {
    cl_mem data = buffer();
    cl_int status;
    float *mapped = clEnqueueMapBuffer(queue, data, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &status);
    clSetKernelArg(add, 0, sizeof data, &data);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 0, NULL, NULL);  // expect: SS108
    mapped[0] = 1;
    clEnqueueUnmapMemObject(queue, data, mapped, 0, NULL, NULL);
    clFinish(queue);
    clReleaseMemObject(data);
}

PROGRAM(map_and_unmap_right) {
    cl_mem data = buffer();
    cl_int status;
    float *mapped = clEnqueueMapBuffer(queue, data, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &status);
    mapped[0] = 1;
    clEnqueueUnmapMemObject(queue, data, mapped, 0, NULL, NULL);
    enqueue_add(queue, data, 0, NULL, NULL);
    clFinish(queue);
    clReleaseMemObject(data);
}

PROGRAM(mapped_twice_for_reading_right) {
    cl_mem data = buffer();
    cl_int status;
    float *first = clEnqueueMapBuffer(queue, data, CL_TRUE, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &status);
    float *second = clEnqueueMapBuffer(queue, data, CL_TRUE, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &status);
    clEnqueueUnmapMemObject(queue, data, first, 0, NULL, NULL);
    clEnqueueUnmapMemObject(queue, data, second, 0, NULL, NULL);
    enqueue_add(queue, data, 0, NULL, NULL);
    clFinish(queue);
    clReleaseMemObject(data);
}

PROGRAM(buffer_over_host_memory_right) {
    cl_int status;
    float *memory = malloc(bytes);
    cl_mem data = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, bytes, memory, &status);
    float *mapped = clEnqueueMapBuffer(queue, data, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &status);
    memset(mapped, 0, bytes);
    clEnqueueUnmapMemObject(queue, data, mapped, 0, NULL, NULL);
    enqueue_add(queue, data, 0, NULL, NULL);
    clFinish(queue);
    clReleaseMemObject(data);
    free(memory);
}

// PoCL takes shared memory from the C library, which may give the same place to the program's own arrays.
PROGRAM(host_memory_that_was_shared_right) {
    cl_mem data = buffer();
    float *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    clSVMFree(context, shared);
    for (int number = 0; number < 8; ++number) {
        float *memory = malloc(bytes);
        clEnqueueReadBuffer(queue, data, CL_TRUE, 0, bytes, memory, 0, NULL, NULL);
        clEnqueueSVMMemcpy(queue, CL_TRUE, memory, memory + count / 2, bytes / 2, 0, NULL, NULL);
        if (number % 2) free(memory);
    }
    clReleaseMemObject(data);
}

PROGRAM(host_memory_that_was_under_a_buffer_right) {
    cl_int status;
    static float memory[COUNT];
    cl_mem data = buffer();
    cl_mem over = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, bytes, memory, &status);
    clReleaseMemObject(over);
    clEnqueueReadBuffer(queue, data, CL_TRUE, 0, bytes, memory, 0, NULL, NULL);
    clReleaseMemObject(data);
}

PROGRAM(svm_map_right) {
    float *data = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, data, bytes, 0, NULL, NULL);
    data[0] = 1;
    clEnqueueSVMUnmap(queue, data, 0, NULL, NULL);
    clSetKernelArgSVMPointer(add, 0, data);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 0, NULL, NULL);
    clFinish(queue);
    clSVMFree(context, data);
}

// -- events ----------------------------------------------------------------------------------------------

PROGRAM(release_under_user_event_wrong) {
    cl_int status;
    cl_mem data = buffer();
    cl_event gate = clCreateUserEvent(context, &status);
    enqueue_add(queue, data, 1, &gate, NULL);
    clReleaseMemObject(data);  // expect: SS208
    clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(gate);
    clFinish(queue);
}

PROGRAM(release_after_user_event_right) {
    cl_int status;
    cl_mem data = buffer();
    cl_event gate = clCreateUserEvent(context, &status);
    enqueue_add(queue, data, 1, &gate, NULL);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(gate);
    clReleaseMemObject(data);
    clFinish(queue);
}

PROGRAM(event_released_twice_wrong) {
    cl_mem data = buffer();
    cl_event added;
    enqueue_add(queue, data, 0, NULL, &added);
    clFinish(queue);
    clReleaseEvent(added);
    printf("second release: %d\n", clReleaseEvent(added));  // expect: SS205
    clReleaseMemObject(data);
}

static void CL_CALLBACK count_down(cl_event event, cl_int status, void *data) { ++*(volatile int *)data; }

PROGRAM(callback_right) {
    cl_mem data = buffer();
    cl_event added;
    volatile int called = 0;
    enqueue_add(queue, data, 0, NULL, &added);
    clSetEventCallback(added, CL_COMPLETE, count_down, (void *)&called);
    clFinish(queue);
    while (!called) {
    }
    clReleaseEvent(added);
    clReleaseMemObject(data);
}

static void CL_CALLBACK waits(cl_event event, cl_int status, void *data) {
    clFinish(other);  // expect: SS209
    *(volatile int *)data = 1;
}

PROGRAM(callback_that_waits_wrong) {
    cl_mem data = buffer();
    cl_event added;
    volatile int called = 0;
    enqueue_add(queue, data, 0, NULL, &added);
    clSetEventCallback(added, CL_COMPLETE, waits, (void *)&called);
    clFlush(queue);
    while (!called) {
    }
    clReleaseEvent(added);
    clReleaseMemObject(data);
}

// -- other objects ---------------------------------------------------------------------------------------

PROGRAM(kernel_released_twice_wrong) {
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, "sum", &status);
    clReleaseKernel(kernel);
    printf("second release: %d\n", clReleaseKernel(kernel));  // expect: SS205
}

PROGRAM(queue_released_twice_wrong) {
    cl_int status;
    cl_command_queue made = clCreateCommandQueue(context, device, 0, &status);
    clReleaseCommandQueue(made);
    printf("second release: %d\n", clReleaseCommandQueue(made));  // expect: SS205
}

PROGRAM(context_of_a_queue_right) {
    cl_int status;
    cl_context made = clCreateContext(NULL, 1, &device, NULL, NULL, &status), asked;
    cl_command_queue on = clCreateCommandQueue(made, device, 0, &status);
    clReleaseContext(made);
    clGetCommandQueueInfo(on, CL_QUEUE_CONTEXT, sizeof asked, &asked, NULL);
    printf("retain: %d\n", clRetainContext(asked));
    clReleaseContext(asked);
    clReleaseCommandQueue(on);
}

PROGRAM(image_right) {
    cl_int status;
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status);
    const size_t left[3] = {0, 0, 0}, right[3] = {4, 0, 0}, half[3] = {4, 8, 1};
    unsigned char first[4 * 8 * 4] = {0}, second[4 * 8 * 4] = {0};
    clEnqueueWriteImage(queue, image, CL_FALSE, left, half, 0, 0, first, 0, NULL, NULL);
    clEnqueueWriteImage(other, image, CL_FALSE, right, half, 0, 0, second, 0, NULL, NULL);
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(image);
}

PROGRAM(image_wrong) {
    cl_int status;
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status);
    const size_t origin[3] = {0, 0, 0}, whole[3] = {8, 8, 1};
    unsigned char first[8 * 8 * 4] = {0};
    clEnqueueWriteImage(queue, image, CL_FALSE, origin, whole, 0, 0, first, 0, NULL, NULL);
    clEnqueueReadImage(other, image, CL_TRUE, origin, whole, 0, 0, first, 0, NULL, NULL);  // expect: SS109
    clFinish(queue);
    clReleaseMemObject(image);
}

// A launch like the one before is told without a look at the kernel: until something of it changes.

PROGRAM(launches_again_right) {
    cl_int status;
    cl_mem first = buffer(), second = buffer();
    for (int round = 0; round < 3; ++round) enqueue_add(queue, first, 0, NULL, NULL);
    for (int round = 0; round < 3; ++round) enqueue_add(other, second, 0, NULL, NULL);
    clFinish(queue);
    clFinish(other);
    for (int round = 0; round < 2; ++round) {
        cl_mem data = round == 0 ? first : second;
        cl_kernel made = clCreateKernel(program, "add", &status);
        const float one = 1;
        clSetKernelArg(made, 1, sizeof one, &one);
        clSetKernelArg(made, 0, sizeof data, &data);
        for (int again = 0; again < 2; ++again)
            clEnqueueNDRangeKernel(round == 0 ? queue : other, made, 1, NULL, &count, NULL, 0, NULL, NULL);
        clReleaseKernel(made);
    }
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(first);
    clReleaseMemObject(second);
}

PROGRAM(launches_again_wrong) {
    cl_mem first = buffer(), second = buffer();
    for (int round = 0; round < 3; ++round) enqueue_add(queue, first, 0, NULL, NULL);
    for (int round = 0; round < 3; ++round) enqueue_add(other, second, 0, NULL, NULL);
    clSetKernelArg(add, 0, sizeof first, &first);
    clEnqueueNDRangeKernel(other, add, 1, NULL, &count, NULL, 0, NULL, NULL);  // expect: SS109
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(first);
    clReleaseMemObject(second);
}

// One kernel draws, and one on another queue looks at what it drew.
static void draw_and_look(int in_order) {
    cl_int status;
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
    const size_t pixels[2] = {8, 8};
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status), to = buffer();
    cl_kernel shade = clCreateKernel(program, "shade", &status), gather = clCreateKernel(program, "gather", &status);
    cl_event drawn;
    clSetKernelArg(shade, 0, sizeof image, &image);
    clSetKernelArg(gather, 0, sizeof image, &image);
    clSetKernelArg(gather, 1, sizeof to, &to);
    clEnqueueNDRangeKernel(queue, shade, 2, NULL, pixels, NULL, 0, NULL, &drawn);
    clFlush(queue);
    const cl_event *list = in_order ? &drawn : NULL;
    clEnqueueNDRangeKernel(other, gather, 2, NULL, pixels, NULL, in_order, list, NULL);  // expect: SS109
    clFinish(other);
    clFinish(queue);
    clReleaseEvent(drawn);
    clReleaseKernel(shade);
    clReleaseKernel(gather);
    clReleaseMemObject(image);
    clReleaseMemObject(to);
}

PROGRAM(draw_and_look_wrong) {
    draw_and_look(0);
}

PROGRAM(draw_and_look_right) {
    draw_and_look(1);
}

// Of each object that is never released the call that made it is named, of many at one place once.
PROGRAM(objects_kept_wrong) {
    cl_int status;
    cl_mem data = buffer();
    cl_kernel kept = clCreateKernel(program, "sum", &status);  // expect-note: SS401
    for (int number = 0; number < 4; ++number) {
        cl_event done;
        clEnqueueMarkerWithWaitList(queue, 0, NULL, &done);  // expect-note: SS401
        if (number % 2) clReleaseEvent(done);
    }
    clReleaseMemObject(data);
    printf("%d\n", kept != NULL);
}

// With `all_right` all right programs, one after the other.
int main(int arguments, char **words) {
    const char *wanted = arguments < 2 ? "" : words[1];
    const int all = strcmp(wanted, "all_right") == 0;
    int done = 0;
    for (int number = 0; number < program_count; ++number) {
        const char *name = programs[number].name;
        const int right = strcmp(name + strlen(name) - strlen("_right"), "_right") == 0;
        if (!(all && right) && strcmp(name, wanted) != 0) continue;
        begin();
        programs[number].body();
        end();
        ++done;
    }
    return done == 0 ? 7 : 0;
}
