// Matrix blocks multiplied one by one; handles are owned by unique_ptr with OpenCL deleters.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <vector>

template <auto Rel> struct Del { template <class T> void operator()(T *p) const { Rel(p); } };
template <class H, auto Rel> using owned = std::unique_ptr<std::remove_pointer_t<H>, Del<Rel>>;
using ctx_t = owned<cl_context, clReleaseContext>;
using queue_t = owned<cl_command_queue, clReleaseCommandQueue>;
using program_t = owned<cl_program, clReleaseProgram>;
using kernel_t = owned<cl_kernel, clReleaseKernel>;
using mem_t = owned<cl_mem, clReleaseMemObject>;

static void must(cl_int e, const char *s) { if (e) { std::fprintf(stderr, "%s -> %d\n", s, e); std::exit(1); } }

constexpr int B = 64, BLOCKS = 10;

struct Device {
    ctx_t ctx; queue_t q; program_t prog; kernel_t mul;
    Device()
    {
        static const char *src =
            "__kernel void mul(__global const int *a, __global const int *b, __global int *c, int n) {\n"
            "  int x = get_global_id(0), y = get_global_id(1), s = 0;\n"
            "  for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];\n"
            "  c[y * n + x] = s; }\n";
        cl_platform_id p; cl_device_id d; cl_int e;
        must(clGetPlatformIDs(1, &p, nullptr), "platform");
        must(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, nullptr), "device");
        ctx.reset(clCreateContext(nullptr, 1, &d, nullptr, nullptr, &e)); must(e, "context");
        q.reset(clCreateCommandQueue(ctx.get(), d, 0, &e)); must(e, "queue");
        prog.reset(clCreateProgramWithSource(ctx.get(), 1, &src, nullptr, &e)); must(e, "program");
        must(clBuildProgram(prog.get(), 1, &d, "", nullptr, nullptr), "build");
        mul.reset(clCreateKernel(prog.get(), "mul", &e)); must(e, "kernel");
    }
    mem_t buffer(cl_mem_flags f, std::size_t n, void *init = nullptr) const
    {
        cl_int e;
        mem_t m(clCreateBuffer(ctx.get(), f, n, init, &e)); must(e, "buffer");  // expect: SS305
        return m;
    }
};

using Block = std::vector<int>;

static Block multiply(Device &dev, Block &a, Block &b)
{
    const std::size_t bytes = B * B * sizeof(int), g[2] = {B, B};
    Block c(B * B);
    mem_t ma = dev.buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, a.data());
    mem_t mb = dev.buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, b.data());
    mem_t mc = dev.buffer(CL_MEM_WRITE_ONLY, bytes);
    cl_mem args[3] = {ma.get(), mb.get(), mc.get()};
    for (cl_uint i = 0; i < 3; ++i) must(clSetKernelArg(dev.mul.get(), i, sizeof(cl_mem), &args[i]), "arg");
    const int n = B;
    must(clSetKernelArg(dev.mul.get(), 3, sizeof n, &n), "arg n");
    must(clEnqueueNDRangeKernel(dev.q.get(), dev.mul.get(), 2, nullptr, g, nullptr, 0, nullptr, nullptr), "mul");
    cl_mem result = mc.release();
    must(clEnqueueReadBuffer(dev.q.get(), result, CL_TRUE, 0, bytes, c.data(), 0, nullptr, nullptr), "read");
    return c;
}

int main()
{
    Device dev;
    int bad = 0;
    for (int blk = 0; blk < BLOCKS; ++blk) {
        Block a(B * B), b(B * B);
        for (int i = 0; i < B * B; ++i) { a[i] = (i + blk) % 7; b[i] = (i * 3 + blk) % 11 - 5; }
        Block c = multiply(dev, a, b);
        for (int y = 0; y < B; ++y)
            for (int x = 0; x < B; ++x) {
                int s = 0;
                for (int k = 0; k < B; ++k) s += a[y * B + k] * b[k * B + x];
                bad += s != c[y * B + x];
            }
    }
    std::puts(bad ? "product wrong" : "ok");
    return bad != 0;
}
