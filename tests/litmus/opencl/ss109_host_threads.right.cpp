// Two host threads, a queue each, one accumulator: without an event the kernels meet in it.
#define CL_HPP_TARGET_OPENCL_VERSION 200
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <thread>
#include <vector>

static const char* const source = R"CLC(
kernel void add(global float* sum, global const float* x) {
    size_t i = get_global_id(0);
    sum[i] += x[i];
}
)CLC";

struct Worker {
    cl::CommandQueue queue;
    cl::Kernel kernel;
    cl::Buffer part;
    cl::Event done;
};

static void work(Worker& worker, const cl::Buffer& sum, size_t count, const std::vector<cl::Event>* after) {
    worker.kernel.setArg(0, sum);
    worker.kernel.setArg(1, worker.part);
    worker.queue.enqueueNDRangeKernel(worker.kernel, cl::NullRange, cl::NDRange(count), cl::NullRange, after, &worker.done);
    worker.queue.flush();
}

int main() {
    cl::Device device = cl::Device::getDefault();
    cl::Context context(device);
    cl::Program program(context, source, true);
    const size_t count = 4096, bytes = count * sizeof(float);
    cl::Buffer sum(context, CL_MEM_READ_WRITE, bytes);
    Worker first{cl::CommandQueue(context, device), cl::Kernel(program, "add"), cl::Buffer(context, CL_MEM_READ_ONLY, bytes)};
    Worker second{cl::CommandQueue(context, device), cl::Kernel(program, "add"), cl::Buffer(context, CL_MEM_READ_ONLY, bytes)};
    std::thread one([&] { work(first, sum, count, nullptr); });
    one.join();
    std::vector<cl::Event> after{first.done};
    std::thread two([&] { work(second, sum, count, &after); });
    two.join();
    first.queue.finish();
    second.queue.finish();
    return 0;
}
