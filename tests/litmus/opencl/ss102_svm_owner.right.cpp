// Shared virtual memory owned by unique_ptr; a node list is walked by a kernel.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <memory>

static void must(cl_int rc) { if (rc != CL_SUCCESS) { std::fprintf(stderr, "OpenCL: %d\n", rc); std::exit(1); } }

struct SvmDeleter {
    cl_context context;
    void operator()(void *p) const { clSVMFree(context, p); }
};
template <class T> using svm_ptr = std::unique_ptr<T[], SvmDeleter>;

template <class T> svm_ptr<T> make_svm(cl_context context, std::size_t n)
{
    return svm_ptr<T>(static_cast<T *>(clSVMAlloc(context, CL_MEM_READ_WRITE, n * sizeof(T), 0)), SvmDeleter{context});
}

static const char *source =
    "__kernel void walk(__global const int *next, __global int *visits, int n) {\n"
    "  int at = 0; for (int i = 0; i < n; i++) { at = next[at]; visits[at]++; } }\n";

class Walker {
public:
    explicit Walker(cl_context context, cl_device_id device) : context_(context)
    {
        cl_int rc;
        queue_ = clCreateCommandQueueWithProperties(context, device, nullptr, &rc);
        must(rc);
        cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &rc);
        must(rc);
        must(clBuildProgram(program, 1, &device, "-cl-std=CL2.0", nullptr, nullptr));
        kernel_ = clCreateKernel(program, "walk", &rc);
        must(rc);
        clReleaseProgram(program);
    }
    ~Walker()
    {
        clReleaseKernel(kernel_);
        clReleaseCommandQueue(queue_);
    }
    void walk(int n, cl_mem visits)
    {
        auto next = make_svm<cl_int>(context_, n);
        const std::size_t one = 1, bytes = n * sizeof(cl_int);
        must(clEnqueueSVMMap(queue_, CL_TRUE, CL_MAP_WRITE, next.get(), bytes, 0, nullptr, nullptr));
        for (int i = 0; i < n; ++i) next[i] = (i + 1) % n;
        must(clEnqueueSVMUnmap(queue_, next.get(), 0, nullptr, nullptr));
        must(clSetKernelArgSVMPointer(kernel_, 0, next.get()));
        must(clSetKernelArg(kernel_, 1, sizeof visits, &visits));
        must(clSetKernelArg(kernel_, 2, sizeof n, &n));
        must(clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &one, nullptr, 0, nullptr, nullptr));
        must(clFinish(queue_));
    }
    void fetch(cl_mem visits, int *to, std::size_t bytes)
    {
        must(clEnqueueReadBuffer(queue_, visits, CL_TRUE, 0, bytes, to, 0, nullptr, nullptr));
    }

private:
    cl_context context_;
    cl_command_queue queue_;
    cl_kernel kernel_;
};

int main()
{
    constexpr int n = 2048;
    cl_platform_id platform;
    cl_device_id device;
    cl_int rc;
    must(clGetPlatformIDs(1, &platform, nullptr));
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &rc);
    must(rc);
    static int visits[n];
    cl_mem counted = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof visits, visits, &rc);
    must(rc);
    int bad = 0;
    {
        Walker walker(context, device);
        for (int turn = 0; turn < 3; ++turn) walker.walk(n, counted);
        walker.fetch(counted, visits, sizeof visits);
    }
    for (int v : visits) bad += v != 3;
    clReleaseMemObject(counted);
    clReleaseContext(context);
    std::puts(bad ? "bad" : "ok");
    return bad != 0;
}
