// Biquad cascade: coefficients live in a scoped buffer, the launch is composed by a small builder.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CLT(x) do { cl_int e_ = (x); if (e_) { std::fprintf(stderr, "%s:%d %d\n", __FILE__, __LINE__, e_); std::exit(1); } } while (0)

template <class T, cl_int (CL_API_CALL *Rel)(T)> struct Handle {
    T h{};
    Handle() = default;
    explicit Handle(T t) : h(t) {}
    Handle(Handle &&o) noexcept : h(o.h) { o.h = nullptr; }
    Handle &operator=(Handle &&o) noexcept { std::swap(h, o.h); return *this; }
    ~Handle() { if (h) Rel(h); }
    operator T() const { return h; }
};
using Context = Handle<cl_context, clReleaseContext>;
using Queue = Handle<cl_command_queue, clReleaseCommandQueue>;
using Program = Handle<cl_program, clReleaseProgram>;
using Kernel = Handle<cl_kernel, clReleaseKernel>;
using Mem = Handle<cl_mem, clReleaseMemObject>;

static Context ctx; static Queue q; static Program prog;

template <class T> Mem make(const std::vector<T> &v, cl_mem_flags f)
{
    cl_int e;
    Mem m(clCreateBuffer(ctx, f | CL_MEM_COPY_HOST_PTR, v.size() * sizeof(T), const_cast<T *>(v.data()), &e)); CLT(e);
    return m;
}

class Launch {
public:
    explicit Launch(const char *name) { cl_int e; k_ = Kernel(clCreateKernel(prog, name, &e)); CLT(e); }
    Launch &with(cl_mem m) { CLT(clSetKernelArg(k_, n_++, sizeof m, &m)); return *this; }
    Launch &with(int v) { CLT(clSetKernelArg(k_, n_++, sizeof v, &v)); return *this; }
    void go(std::size_t g) { CLT(clEnqueueNDRangeKernel(q, k_, 1, nullptr, &g, nullptr, 0, nullptr, nullptr)); } // expect: SS101
private:
    Kernel k_; cl_uint n_ = 0;
};

static const char *src =
    "__kernel void cascade(__global int *x, __global const int *c, int n) {\n"
    "  int i = get_global_id(0), v = x[i]; for (int s = 0; s < n; s++) v = (v * c[s]) / 16 + s; x[i] = v; }\n";

static void init()
{
    cl_platform_id p; cl_device_id d; cl_int e;
    CLT(clGetPlatformIDs(1, &p, nullptr));
    CLT(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, nullptr));
    ctx = Context(clCreateContext(nullptr, 1, &d, nullptr, nullptr, &e)); CLT(e);
    q = Queue(clCreateCommandQueue(ctx, d, 0, &e)); CLT(e);
    prog = Program(clCreateProgramWithSource(ctx, 1, &src, nullptr, &e)); CLT(e);
    CLT(clBuildProgram(prog, 1, &d, "", nullptr, nullptr));
}

static std::vector<int> coefficients(int voice)
{
    std::vector<int> c;
    for (int s = 0; s < 4 + voice; ++s) c.push_back(12 + (s * voice) % 7);
    return c;
}

static void run_voice(const Mem &samples, int voice, std::size_t n)
{
    Launch launch("cascade");
    {
        std::vector<int> c = coefficients(voice);
        Mem coeffs = make(c, CL_MEM_READ_ONLY);
        launch.with(samples).with(coeffs).with(static_cast<int>(c.size()));
    }
    launch.go(n);
}

int main()
{
    init();
    std::vector<int> x(8192), got(8192);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i * 5 % 4001);
    int bad = 0;
    {
        Mem samples = make(x, CL_MEM_READ_WRITE);
        for (int v = 0; v < 4; ++v) run_voice(samples, v, x.size());
        CLT(clEnqueueReadBuffer(q, samples, CL_TRUE, 0, got.size() * sizeof(int), got.data(), 0, nullptr, nullptr));
    }
    for (int v = 0; v < 4; ++v) {
        auto c = coefficients(v);
        for (int &s : x) for (std::size_t k = 0; k < c.size(); ++k) s = s * c[k] / 16 + static_cast<int>(k);
    }
    for (std::size_t i = 0; i < x.size(); ++i) bad += x[i] != got[i];
    std::puts(bad ? "cascade wrong" : "ok");
    return bad != 0;
}
