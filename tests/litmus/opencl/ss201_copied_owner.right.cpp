// Tiles of a picture, each an object that owns its buffer.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

inline void guard(cl_int code, const char *file, int line)
{
    if (code == CL_SUCCESS) return;
    std::fprintf(stderr, "%s:%d: cl error %d\n", file, line, code);
    std::exit(1);
}
#define GUARD(x) guard(x, __FILE__, __LINE__)

class Tile {
public:
    Tile(cl_context context, std::size_t bytes)
    {
        cl_int code;
        memory_ = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
        GUARD(code);
    }
    Tile(const Tile &other) : memory_(other.memory_) { GUARD(clRetainMemObject(memory_)); }
    Tile &operator=(const Tile &) = delete;
    ~Tile() { GUARD(clReleaseMemObject(memory_)); }
    cl_mem get() const { return memory_; }

private:
    cl_mem memory_;
};

static long paint(cl_command_queue queue, Tile tile, cl_int colour, std::size_t count)
{
    std::vector<cl_int> pixels(count);
    GUARD(clEnqueueFillBuffer(queue, tile.get(), &colour, sizeof colour, 0, count * sizeof(cl_int), 0, nullptr, nullptr));
    GUARD(clEnqueueReadBuffer(queue, tile.get(), CL_TRUE, 0, count * sizeof(cl_int), pixels.data(), 0, nullptr, nullptr));
    long sum = 0;
    for (cl_int pixel : pixels) sum += pixel;
    return sum;
}

int main()
{
    const std::size_t count = 512;
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    GUARD(clGetPlatformIDs(1, &platform, nullptr));
    GUARD(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    GUARD(code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    GUARD(code);
    long sum = 0;
    {
        Tile tile(context, count * sizeof(cl_int));
        for (int colour = 1; colour < 4; ++colour) sum += paint(queue, tile, colour, count);
    }
    GUARD(clReleaseCommandQueue(queue));
    GUARD(clReleaseContext(context));
    std::puts(sum == 6 * 512 ? "ok" : "bad");
    return sum != 6 * 512;
}
