// Streaming filter: a ring of device slots, uploads on one queue, kernels on another.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

static void check(cl_int status, const char *what)
{
    if (status != CL_SUCCESS) throw std::runtime_error(std::string(what) + ": " + std::to_string(status));
}
#define CHECKED(call) check((call), #call)

static const char *kernel_text =
    "kernel void smooth(global const int *in, global int *out, int n) {\n"
    "  int i = get_global_id(0); if (i >= n) return; out[i] = in[i] * 3 + 1; }\n";

struct Slot {
    cl_mem in = nullptr, out = nullptr;
    cl_event computed = nullptr;
};

class Stream {
public:
    explicit Stream(std::size_t n) : n_(n)
    {
        cl_platform_id platform;
        CHECKED(clGetPlatformIDs(1, &platform, nullptr));
        CHECKED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr));
        cl_int status;
        context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
        check(status, "context");
        upload_ = make_queue();
        compute_ = make_queue();
        cl_program program = clCreateProgramWithSource(context_, 1, &kernel_text, nullptr, &status);
        check(status, "program");
        CHECKED(clBuildProgram(program, 1, &device_, nullptr, nullptr, nullptr));
        kernel_ = clCreateKernel(program, "smooth", &status);
        check(status, "kernel");
        clReleaseProgram(program);
        for (Slot &slot : slots_) {
            slot.in = make_buffer(CL_MEM_READ_ONLY);
            slot.out = make_buffer(CL_MEM_READ_WRITE);
        }
    }
    ~Stream()
    {
        clFinish(upload_);
        clFinish(compute_);
        for (Slot &slot : slots_) {
            if (slot.computed) clReleaseEvent(slot.computed);
            clReleaseMemObject(slot.in);
            clReleaseMemObject(slot.out);
        }
        clReleaseKernel(kernel_);
        clReleaseCommandQueue(upload_);
        clReleaseCommandQueue(compute_);
        clReleaseContext(context_);
    }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    void push(const std::vector<int> &frame, std::vector<int> &result)
    {
        Slot &slot = slots_[next_++ % slots_.size()];
        cl_event uploaded, computed;
        cl_uint before = slot.computed ? 1 : 0;
        CHECKED(clEnqueueWriteBuffer(upload_, slot.in, CL_FALSE, 0, bytes(), frame.data(), before, before ? &slot.computed : nullptr, &uploaded));
        CHECKED(clFlush(upload_));
        if (slot.computed) CHECKED(clReleaseEvent(slot.computed));
        cl_int n = static_cast<cl_int>(n_);
        CHECKED(clSetKernelArg(kernel_, 0, sizeof slot.in, &slot.in));
        CHECKED(clSetKernelArg(kernel_, 1, sizeof slot.out, &slot.out));
        CHECKED(clSetKernelArg(kernel_, 2, sizeof n, &n));
        CHECKED(clEnqueueNDRangeKernel(compute_, kernel_, 1, nullptr, &n_, nullptr, 1, &uploaded, &computed));
        CHECKED(clEnqueueReadBuffer(compute_, slot.out, CL_FALSE, 0, bytes(), result.data(), 0, nullptr, nullptr));
        CHECKED(clReleaseEvent(uploaded));
        slot.computed = computed;
    }
    void drain() { CHECKED(clFinish(compute_)); }

private:
    std::size_t bytes() const { return n_ * sizeof(cl_int); }
    cl_command_queue make_queue()
    {
        cl_int status;
        cl_command_queue queue = clCreateCommandQueue(context_, device_, 0, &status);
        check(status, "queue");
        return queue;
    }
    cl_mem make_buffer(cl_mem_flags flags)
    {
        cl_int status;
        cl_mem memory = clCreateBuffer(context_, flags, bytes(), nullptr, &status);
        check(status, "buffer");
        return memory;
    }
    std::size_t n_, next_ = 0;
    cl_device_id device_ = nullptr;
    cl_context context_ = nullptr;
    cl_command_queue upload_ = nullptr, compute_ = nullptr;
    cl_kernel kernel_ = nullptr;
    std::array<Slot, 2> slots_;
};

int main()
{
    const std::size_t n = 4096;
    const int count = 6;
    std::vector<std::vector<int>> frames(count, std::vector<int>(n)), results(count, std::vector<int>(n));
    for (int f = 0; f < count; ++f)
        for (std::size_t i = 0; i < n; ++i) frames[f][i] = static_cast<int>(i) + f;
    Stream stream(n);
    for (int f = 0; f < count; ++f) stream.push(frames[f], results[f]);
    stream.drain();
    int bad = 0;
    for (int f = 0; f < count; ++f)
        for (std::size_t i = 0; i < n; ++i) bad += results[f][i] != frames[f][i] * 3 + 1;
    std::puts(bad ? "bad" : "ok");
    return bad != 0;
}
