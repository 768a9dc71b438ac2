// A callback of each upload hands its slot to a worker thread, which enqueues the filter on a queue of its own.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#define OK(x) do { cl_int r_ = (x); if (r_) { std::fprintf(stderr, "line %d: %d\n", __LINE__, r_); std::exit(2); } } while (0)

static const size_t COUNT = 1 << 14;
static const int SLOTS = 3;
static const char *text =
    "__kernel void smooth(__global const float *in, __global float *out) {\n"
    "  size_t i = get_global_id(0); out[i] = 0.5f * in[i]; }\n";

struct Slot {
    cl_mem in, out;
    cl_event uploaded;
    int index;
};

class Feeder {
public:
    void put(Slot *slot)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        ready_.push_back(slot);
        condition_.notify_one();
    }
    Slot *take()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        while (ready_.empty()) condition_.wait(lock);
        Slot *slot = ready_.front();
        ready_.pop_front();
        return slot;
    }

private:
    std::mutex mutex_;
    std::condition_variable condition_;
    std::deque<Slot *> ready_;
};

static Feeder feeder;

static void CL_CALLBACK uploaded(cl_event, cl_int, void *slot) { feeder.put(static_cast<Slot *>(slot)); }

int main()
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    OK(clGetPlatformIDs(1, &platform, nullptr));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    OK(status);
    cl_command_queue io = clCreateCommandQueue(context, device, 0, &status);
    OK(status);
    cl_command_queue work = clCreateCommandQueue(context, device, 0, &status);
    OK(status);
    cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &status);
    OK(status);
    OK(clBuildProgram(program, 1, &device, "", nullptr, nullptr));
    cl_kernel smooth = clCreateKernel(program, "smooth", &status);
    OK(status);
    std::vector<float> input(COUNT, 2.0f), output(SLOTS * COUNT);
    Slot slots[SLOTS];
    for (int i = 0; i < SLOTS; i++) {
        slots[i].index = i;
        slots[i].in = clCreateBuffer(context, CL_MEM_READ_ONLY, COUNT * sizeof(float), nullptr, &status);
        OK(status);
        slots[i].out = clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * sizeof(float), nullptr, &status);
        OK(status);
    }
    for (int i = 0; i < SLOTS; i++) {
        OK(clEnqueueWriteBuffer(io, slots[i].in, CL_FALSE, 0, COUNT * sizeof(float), input.data(), 0, nullptr, &slots[i].uploaded));
        OK(clSetEventCallback(slots[i].uploaded, CL_COMPLETE, uploaded, &slots[i]));
    }
    OK(clFlush(io));
    std::thread worker([&] {
        size_t items = COUNT;
        for (int i = 0; i < SLOTS; i++) {
            Slot *slot = feeder.take();
            OK(clSetKernelArg(smooth, 0, sizeof slot->in, &slot->in));
            OK(clSetKernelArg(smooth, 1, sizeof slot->out, &slot->out));
            OK(clEnqueueNDRangeKernel(work, smooth, 1, nullptr, &items, nullptr, 0, nullptr, nullptr));
            OK(clEnqueueReadBuffer(work, slot->out, CL_FALSE, 0, COUNT * sizeof(float), output.data() + slot->index * COUNT, 0, nullptr, nullptr));
        }
        OK(clFinish(work));
    });
    worker.join();
    OK(clFinish(io));
    std::puts(output[0] == 1.0F ? "ok" : "wrong");
    for (Slot &slot : slots) {
        clReleaseEvent(slot.uploaded);
        clReleaseMemObject(slot.in);
        clReleaseMemObject(slot.out);
    }
    clReleaseKernel(smooth);
    clReleaseProgram(program);
    clReleaseCommandQueue(io);
    clReleaseCommandQueue(work);
    clReleaseContext(context);
    return 0;
}
