// A small task graph on one out-of-order queue: every task waits for those it names.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#define MUST(expr)                                                                     \
    if (cl_int rc_ = (expr); rc_ != CL_SUCCESS) {                                      \
        std::fprintf(stderr, "%s:%d: %s -> %d\n", __FILE__, __LINE__, #expr, rc_);     \
        std::abort();                                                                  \
    }

static const char *kSource = R"CLC(
__kernel void init(__global int *a, int v) { a[get_global_id(0)] = v + (int)get_global_id(0); }
__kernel void add(__global const int *a, __global const int *b, __global int *c) {
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}
)CLC";

class Graph {
public:
    Graph(cl_context context, cl_device_id device, cl_program program, std::size_t n) : program_(program), n_(n)
    {
        cl_int rc;
        queue_ = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &rc);
        MUST(rc);
    }
    ~Graph()
    {
        for (cl_event event : events_) clReleaseEvent(event);
        for (auto &[name, kernel] : kernels_) clReleaseKernel(kernel);
        clReleaseCommandQueue(queue_);
    }
    cl_kernel kernel(const std::string &name)
    {
        cl_kernel &found = kernels_[name];
        if (!found) {
            cl_int rc;
            found = clCreateKernel(program_, name.c_str(), &rc);
            MUST(rc);
        }
        return found;
    }
    cl_event run(cl_kernel kernel, std::initializer_list<cl_event> after)
    {
        std::vector<cl_event> list(after);
        cl_event done;
        MUST(clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &n_, nullptr, static_cast<cl_uint>(list.size()),  // expect: SS109
                                    list.empty() ? nullptr : list.data(), &done));
        events_.push_back(done);
        return done;
    }
    void read(cl_mem from, void *to, std::size_t bytes, cl_event after)
    {
        MUST(clEnqueueReadBuffer(queue_, from, CL_TRUE, 0, bytes, to, 1, &after, nullptr));
    }

private:
    cl_program program_;
    std::size_t n_;
    cl_command_queue queue_ = nullptr;
    std::map<std::string, cl_kernel> kernels_;
    std::vector<cl_event> events_;
};

int main()
{
    constexpr std::size_t n = 8192;
    cl_platform_id platform;
    cl_device_id device;
    cl_int rc;
    MUST(clGetPlatformIDs(1, &platform, nullptr));
    MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &rc);
    MUST(rc);
    cl_program program = clCreateProgramWithSource(context, 1, &kSource, nullptr, &rc);
    MUST(rc);
    MUST(clBuildProgram(program, 1, &device, "", nullptr, nullptr));
    cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE, n * sizeof(int), nullptr, &rc);
    MUST(rc);
    cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE, n * sizeof(int), nullptr, &rc);
    MUST(rc);
    cl_mem c = clCreateBuffer(context, CL_MEM_READ_WRITE, n * sizeof(int), nullptr, &rc);
    MUST(rc);
    std::vector<int> result(n);
    {
        Graph graph(context, device, program, n);
        int one = 1, two = 2;
        cl_kernel init = graph.kernel("init"), add = graph.kernel("add");
        MUST(clSetKernelArg(init, 0, sizeof a, &a));
        MUST(clSetKernelArg(init, 1, sizeof one, &one));
        cl_event first = graph.run(init, {});
        MUST(clSetKernelArg(init, 0, sizeof b, &b));
        MUST(clSetKernelArg(init, 1, sizeof two, &two));
        cl_event second = graph.run(init, {});
        MUST(clSetKernelArg(add, 0, sizeof a, &a));
        MUST(clSetKernelArg(add, 1, sizeof b, &b));
        MUST(clSetKernelArg(add, 2, sizeof c, &c));
        cl_event sum = graph.run(add, {first});
        graph.read(c, result.data(), n * sizeof(int), sum);
        MUST(clWaitForEvents(1, &second));
    }
    int bad = 0;
    for (std::size_t i = 0; i < n; ++i) bad += result[i] != 3 + 2 * static_cast<int>(i);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseMemObject(c);
    clReleaseProgram(program);
    clReleaseContext(context);
    std::puts(bad ? "bad" : "ok");
    return bad != 0;
}
