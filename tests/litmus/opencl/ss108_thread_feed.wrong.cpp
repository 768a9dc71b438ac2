// A producer thread makes packets, the main thread uploads them without blocking and reduces them.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

using Packet = std::vector<cl_int>;
constexpr int kPackets = 5, kWords = 4096;

static void die_if(cl_int rc, const char *what)
{
    if (rc != CL_SUCCESS) {
        std::fprintf(stderr, "%s: %d\n", what, rc);
        std::exit(1);
    }
}

class Channel {
public:
    void put(Packet packet)
    {
        std::lock_guard<std::mutex> hold(lock_);
        packets_.push_back(std::move(packet));
        filled_.notify_one();
    }
    Packet take()
    {
        std::unique_lock<std::mutex> hold(lock_);
        filled_.wait(hold, [this] { return !packets_.empty(); });
        Packet packet = std::move(packets_.front());
        packets_.pop_front();
        return packet;
    }

private:
    std::mutex lock_;
    std::condition_variable filled_;
    std::deque<Packet> packets_;
};

static const char *text =
    "__kernel void reduce(__global const int *in, __global int *sum, int n, int slot) {\n"
    "  int s = 0; for (int i = 0; i < n; i++) s += in[i]; sum[slot] = s; }\n";

struct Gpu {
    cl_context context;
    cl_command_queue queue;
    cl_kernel reduce;
    cl_mem in, sum;
};

static void consume(Gpu &gpu, Channel &channel, int slot)
{
    Packet packet = channel.take();
    const cl_int n = kWords;
    const std::size_t one = 1;
    cl_event uploaded;
    die_if(clEnqueueWriteBuffer(gpu.queue, gpu.in, CL_FALSE, 0, packet.size() * sizeof(cl_int), packet.data(), 0, nullptr, &uploaded), "upload");
    die_if(clSetKernelArg(gpu.reduce, 0, sizeof gpu.in, &gpu.in), "arg");
    die_if(clSetKernelArg(gpu.reduce, 1, sizeof gpu.sum, &gpu.sum), "arg");
    die_if(clSetKernelArg(gpu.reduce, 2, sizeof n, &n), "arg");
    die_if(clSetKernelArg(gpu.reduce, 3, sizeof slot, &slot), "arg");
    die_if(clEnqueueNDRangeKernel(gpu.queue, gpu.reduce, 1, nullptr, &one, nullptr, 0, nullptr, nullptr), "reduce");
    die_if(clReleaseEvent(uploaded), "event");
}  // expect: SS108

int main()
{
    Gpu gpu;
    cl_platform_id platform;
    cl_device_id device;
    cl_int rc;
    die_if(clGetPlatformIDs(1, &platform, nullptr), "platform");
    die_if(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "device");
    gpu.context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &rc);
    die_if(rc, "context");
    gpu.queue = clCreateCommandQueue(gpu.context, device, 0, &rc);
    die_if(rc, "queue");
    cl_program program = clCreateProgramWithSource(gpu.context, 1, &text, nullptr, &rc);
    die_if(rc, "program");
    die_if(clBuildProgram(program, 1, &device, nullptr, nullptr, nullptr), "build");
    gpu.reduce = clCreateKernel(program, "reduce", &rc);
    die_if(rc, "kernel");
    gpu.in = clCreateBuffer(gpu.context, CL_MEM_READ_ONLY, kWords * sizeof(cl_int), nullptr, &rc);
    die_if(rc, "in");
    gpu.sum = clCreateBuffer(gpu.context, CL_MEM_READ_WRITE, kPackets * sizeof(cl_int), nullptr, &rc);
    die_if(rc, "sum");

    Channel channel;
    std::thread producer([&channel] {
        for (int p = 0; p < kPackets; ++p) channel.put(Packet(kWords, p + 1));
    });
    for (int p = 0; p < kPackets; ++p) consume(gpu, channel, p);
    producer.join();
    std::vector<cl_int> sums(kPackets);
    die_if(clEnqueueReadBuffer(gpu.queue, gpu.sum, CL_TRUE, 0, sums.size() * sizeof(cl_int), sums.data(), 0, nullptr, nullptr), "read");
    int bad = 0;
    for (int p = 0; p < kPackets; ++p) bad += sums[p] != (p + 1) * kWords;
    clReleaseMemObject(gpu.in);
    clReleaseMemObject(gpu.sum);
    clReleaseKernel(gpu.reduce);
    clReleaseProgram(program);
    clReleaseCommandQueue(gpu.queue);
    clReleaseContext(gpu.context);
    std::puts(bad ? "bad" : "ok");
    return bad;
}
