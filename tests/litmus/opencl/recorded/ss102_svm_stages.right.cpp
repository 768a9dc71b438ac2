// Three stages over shared virtual memory, each on a queue of its own; blocks go back to a small pool.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

static void ok(cl_int status, int line)
{
    if (status == CL_SUCCESS) return;
    std::fprintf(stderr, "line %d: %d\n", line, status);
    std::exit(2);
}
#define OK(x) ok((x), __LINE__)

static const char *text =
    "kernel void make(global int *a) { a[get_global_id(0)] = (int)get_global_id(0); }\n"
    "kernel void fold(global const int *a, global int *b) { int s = 0; for (int k = 0; k < 64; k++) s += a[(get_global_id(0) + k) & 1023]; b[get_global_id(0)] = s; }\n";

struct Device {
    cl_device_id id{};
    cl_context context{};
    cl_program program{};
    Device()
    {
        cl_platform_id platform;
        cl_int status;
        OK(clGetPlatformIDs(1, &platform, nullptr));
        OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, nullptr));
        context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status);
        OK(status);
        program = clCreateProgramWithSource(context, 1, &text, nullptr, &status);
        OK(status);
        OK(clBuildProgram(program, 1, &id, "-cl-std=CL2.0", nullptr, nullptr));
    }
    ~Device()
    {
        clReleaseProgram(program);
        clReleaseContext(context);
    }
};

class Block {
public:
    Block(cl_context context, size_t bytes) : context_(context), data_(clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0)) {}
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
    ~Block() { clSVMFree(context_, data_); }
    void *data() const { return data_; }

private:
    cl_context context_;
    void *data_;
};

class Stage {
public:
    Stage(const Device &device, const char *name)
    {
        cl_int status;
        queue_ = clCreateCommandQueueWithProperties(device.context, device.id, nullptr, &status);
        OK(status);
        kernel_ = clCreateKernel(device.program, name, &status);
        OK(status);
    }
    ~Stage()
    {
        clReleaseKernel(kernel_);
        clReleaseCommandQueue(queue_);
    }
    cl_event run(const Block &in, const Block *out, cl_event after)
    {
        size_t items = 1024;
        cl_event done;
        OK(clSetKernelArgSVMPointer(kernel_, 0, in.data()));
        if (out != nullptr) OK(clSetKernelArgSVMPointer(kernel_, 1, out->data()));
        OK(clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &items, nullptr, after ? 1 : 0, after ? &after : nullptr, &done));
        OK(clFlush(queue_));
        return done;
    }
    void drain() { OK(clFinish(queue_)); }

private:
    cl_command_queue queue_{};
    cl_kernel kernel_{};
};

int main()
{
    Device device;
    Stage make(device, "make"), fold(device, "fold");
    auto result = std::make_unique<Block>(device.context, 4096);
    cl_event folded = nullptr;
    {
        Block raw(device.context, 4096);
        cl_event made = make.run(raw, nullptr, nullptr);
        folded = fold.run(raw, result.get(), made);
        clReleaseEvent(made);
        fold.drain();
    }
    OK(clWaitForEvents(1, &folded));
    clReleaseEvent(folded);
    std::puts("ok");
    return 0;
}
