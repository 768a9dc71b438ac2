// Convolution bank; thin RAII handles of our own, kernels are copied into a per-filter table.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

static void check(cl_int e, const char *what) { if (e != CL_SUCCESS) throw std::runtime_error(std::string(what) + ": " + std::to_string(e)); }

class Kernel {
public:
    explicit Kernel(cl_kernel k = nullptr) : k_(k) {}
    Kernel(const Kernel &o) : k_(o.k_)
    {
        if (k_) clRetainKernel(k_);
    }
    Kernel(Kernel &&o) noexcept : k_(std::exchange(o.k_, nullptr)) {}
    Kernel &operator=(Kernel o) noexcept { std::swap(k_, o.k_); return *this; }
    ~Kernel()
    {
        if (k_) clReleaseKernel(k_);
    }
    template <class T> void arg(cl_uint i, const T &v) const { check(clSetKernelArg(k_, i, sizeof v, &v), "arg"); }
    cl_kernel get() const { return k_; }
private:
    cl_kernel k_;
};

struct Filter { Kernel kernel; int tap; };

struct Gpu {
    cl_context ctx{}; cl_command_queue q{}; cl_program prog{};
    explicit Gpu(const char *src)
    {
        cl_platform_id p; cl_device_id d; cl_int e;
        check(clGetPlatformIDs(1, &p, nullptr), "platform");
        check(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, nullptr), "device");
        ctx = clCreateContext(nullptr, 1, &d, nullptr, nullptr, &e); check(e, "context");
        q = clCreateCommandQueue(ctx, d, 0, &e); check(e, "queue");
        prog = clCreateProgramWithSource(ctx, 1, &src, nullptr, &e); check(e, "program");
        check(clBuildProgram(prog, 1, &d, "", nullptr, nullptr), "build");
    }
    Gpu(const Gpu &) = delete;
    ~Gpu() { clReleaseProgram(prog); clReleaseCommandQueue(q); clReleaseContext(ctx); }
    Kernel kernel(const char *n) const { cl_int e; cl_kernel k = clCreateKernel(prog, n, &e); check(e, n); return Kernel(k); }
};

static std::vector<Filter> make_bank(const Kernel &fir)
{
    std::vector<Filter> bank;
    bank.reserve(4);
    for (int tap = 1; tap <= 2; ++tap) bank.push_back(Filter{fir, tap});
    return bank;
}

int main()
try {
    static const char *src =
        "__kernel void fir(__global const int *x, __global int *y, int tap) {\n"
        "  int i = get_global_id(0); y[i] = x[i] * 3 + (i >= tap ? x[i - tap] : 0); }\n";
    constexpr int n = 5000;
    Gpu gpu(src);
    std::vector<int> x(n), y(n);
    for (int i = 0; i < n; ++i) x[i] = i * 17 % 333;
    int bad = 0;
    cl_int e;
    cl_mem dx = clCreateBuffer(gpu.ctx, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, n * 4, x.data(), &e); check(e, "x");
    cl_mem dy = clCreateBuffer(gpu.ctx, CL_MEM_WRITE_ONLY, n * 4, nullptr, &e); check(e, "y");
    {
        Kernel fir = gpu.kernel("fir");
        std::vector<Filter> bank = make_bank(fir);
        for (const Filter &f : bank) {
            size_t g = n;
            f.kernel.arg(0, dx); f.kernel.arg(1, dy); f.kernel.arg(2, f.tap);
            check(clEnqueueNDRangeKernel(gpu.q, f.kernel.get(), 1, nullptr, &g, nullptr, 0, nullptr, nullptr), "run");
            check(clEnqueueReadBuffer(gpu.q, dy, CL_TRUE, 0, n * 4, y.data(), 0, nullptr, nullptr), "read");
            for (int i = 0; i < n; ++i) bad += y[i] != x[i] * 3 + (i >= f.tap ? x[i - f.tap] : 0);
        }
    }
    clReleaseMemObject(dx);
    clReleaseMemObject(dy);
    std::puts(bad ? "filter output wrong" : "ok");
    return bad != 0;
} catch (const std::exception &ex) {
    std::fprintf(stderr, "%s\n", ex.what());
    return 2;
}
