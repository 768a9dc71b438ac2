// Commands are queued behind a user event; the gate opens when the configuration is complete.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CL_OK(call)                                                                   \
    do {                                                                              \
        const cl_int err_ = call;                                                     \
        if (err_ != CL_SUCCESS) {                                                     \
            std::fprintf(stderr, "%s @%d: %d\n", #call, __LINE__, err_);              \
            std::exit(EXIT_FAILURE);                                                  \
        }                                                                             \
    } while (false)

class ScopeExit {
public:
    explicit ScopeExit(std::function<void()> action) : action_(std::move(action)) {}
    ~ScopeExit() { action_(); }
    ScopeExit(const ScopeExit &) = delete;

private:
    std::function<void()> action_;
};

static const char *source = "__kernel void twice(__global int *v) { v[get_global_id(0)] *= 2; }";

class Session {
public:
    Session()
    {
        cl_platform_id platform;
        CL_OK(clGetPlatformIDs(1, &platform, nullptr));
        CL_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
        cl_int err;
        context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &err);
        CL_OK(err);
        queue = clCreateCommandQueue(context, device, 0, &err);
        CL_OK(err);
        program = clCreateProgramWithSource(context, 1, &source, nullptr, &err);
        CL_OK(err);
        CL_OK(clBuildProgram(program, 1, &device, nullptr, nullptr, nullptr));
        gate = clCreateUserEvent(context, &err);
        CL_OK(err);
    }
    ~Session()
    {
        clReleaseEvent(gate);
        clReleaseProgram(program);
        clReleaseCommandQueue(queue);
        clReleaseContext(context);
    }
    void enqueue(cl_mem buffer, std::size_t n)
    {
        cl_int err;
        cl_kernel kernel = clCreateKernel(program, "twice", &err);
        CL_OK(err);
        ScopeExit guard([kernel] { clReleaseKernel(kernel); });  // expect: SS208
        CL_OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
        CL_OK(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &n, nullptr, 1, &gate, nullptr));
    }
    void open()
    {
        CL_OK(clSetUserEventStatus(gate, CL_COMPLETE));
        for (cl_kernel kernel : kernels) CL_OK(clReleaseKernel(kernel));
        kernels.clear();
    }

    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_event gate;
    std::vector<cl_kernel> kernels;
};

int main()
{
    const std::size_t n = 1024;
    std::vector<cl_int> values(n, 21);
    Session session;
    cl_int err;
    cl_mem buffer = clCreateBuffer(session.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n * sizeof(cl_int), values.data(), &err);
    CL_OK(err);
    session.enqueue(buffer, n);
    session.open();
    CL_OK(clEnqueueReadBuffer(session.queue, buffer, CL_TRUE, 0, n * sizeof(cl_int), values.data(), 0, nullptr, nullptr));
    CL_OK(clReleaseMemObject(buffer));
    std::puts(values[n - 1] == 42 ? "ok" : "bad");
    return values[n - 1] == 42 ? 0 : 1;
}
