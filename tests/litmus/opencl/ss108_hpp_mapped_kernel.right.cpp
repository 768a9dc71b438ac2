// Lookup tables edited through a mapped pointer between launches (C++ wrappers).
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static void ok(cl_int error, const std::string &where)
{
    if (error == CL_SUCCESS) return;
    std::fprintf(stderr, "%s: %d\n", where.c_str(), error);
    std::exit(EXIT_FAILURE);
}

struct Table {
    cl::Buffer memory;
    std::size_t bytes;
};

static const char *text =
    "__kernel void look(__global const int *table, __global const int *key, __global int *out) {\n"
    "  size_t i = get_global_id(0); out[i] = table[key[i] & 255]; }\n";

static void edit(cl::CommandQueue &queue, Table &table, int shift)
{
    cl_int error;
    auto *words = static_cast<cl_int *>(
        queue.enqueueMapBuffer(table.memory, CL_TRUE, CL_MAP_WRITE, 0, table.bytes, nullptr, nullptr, &error));
    ok(error, "map");
    for (int i = 0; i < 256; ++i) words[i] = i + shift;
    ok(queue.enqueueUnmapMemObject(table.memory, words), "unmap");
}

static void look(cl::CommandQueue &queue, cl::Kernel &kernel, std::size_t n)
{
    ok(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(n)), "look");
}

int main()
{
    const std::size_t n = 4096;
    cl::Context context = cl::Context::getDefault();
    cl::CommandQueue queue(context);
    cl::Program program(context, std::string(text));
    ok(program.build(), "build");
    cl_int error;
    cl::Kernel kernel(program, "look", &error);
    ok(error, "kernel");
    std::vector<cl_int> keys(n), got(n);
    for (std::size_t i = 0; i < n; ++i) keys[i] = static_cast<cl_int>(i * 11);
    Table table{cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, 256 * sizeof(cl_int)), 256 * sizeof(cl_int)};
    cl::Buffer key(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, n * sizeof(cl_int), keys.data());
    cl::Buffer out(context, CL_MEM_WRITE_ONLY, n * sizeof(cl_int));
    ok(kernel.setArg(0, table.memory), "arg");
    ok(kernel.setArg(1, key), "arg");
    ok(kernel.setArg(2, out), "arg");
    int bad = 0;
    for (int shift = 0; shift < 3; ++shift) {
        edit(queue, table, shift);
        look(queue, kernel, n);
        ok(queue.enqueueReadBuffer(out, CL_TRUE, 0, n * sizeof(cl_int), got.data()), "read");
        for (std::size_t i = 0; i < n; ++i) bad += got[i] != (keys[i] & 255) + shift;
    }
    std::puts(bad ? "bad" : "ok");
    return bad ? 1 : 0;
}
