// Functors of the C++ wrappers: one queue makes noise, the other filters it.
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <cstdio>
#include <string>
#include <vector>

static const std::string text =
    "__kernel void noise(__global int *v, int seed) { int i = get_global_id(0); v[i] = (i * 1103515245 + seed) & 1023; }\n"
    "__kernel void filter(__global const int *v, __global int *w) { int i = get_global_id(0); w[i] = v[i] > 511 ? 1 : 0; }\n";

int main()
try {
    const int n = 4096;
    std::vector<cl::Platform> platforms;
    cl::Platform::get(&platforms);
    std::vector<cl::Device> devices;
    platforms.at(0).getDevices(CL_DEVICE_TYPE_ALL, &devices);
    cl::Context context(devices[0]);
    cl::CommandQueue maker(context, devices[0]), checker(context, devices[0]);
    cl::Program program(context, text, true);
    cl::KernelFunctor<cl::Buffer, int> noise(program, "noise");
    cl::KernelFunctor<cl::Buffer, cl::Buffer> filter(program, "filter");
    cl::Buffer raw(context, CL_MEM_READ_WRITE, n * sizeof(int)), flags(context, CL_MEM_READ_WRITE, n * sizeof(int));
    std::vector<int> got(n);
    int bad = 0;
    for (int seed = 0; seed < 4; ++seed) {
        cl::Event made = noise(cl::EnqueueArgs(maker, cl::NDRange(n)), raw, seed);
        cl::Event filtered = filter(cl::EnqueueArgs(checker, made, cl::NDRange(n)), raw, flags);
        std::vector<cl::Event> after{filtered};
        checker.enqueueReadBuffer(flags, CL_TRUE, 0, n * sizeof(int), got.data(), &after);
        for (int i = 0; i < n; ++i) bad += got[i] != (((i * 1103515245 + seed) & 1023) > 511 ? 1 : 0);
    }
    std::puts(bad ? "bad" : "ok");
    return bad ? 1 : 0;
} catch (const cl::Error &error) {
    std::fprintf(stderr, "%s: %d\n", error.what(), error.err());
    return 2;
}
