// Two kernel functors on an out-of-order queue; the second needs the first one's event.
#define CL_HPP_TARGET_OPENCL_VERSION 200
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>

static const char* const source = R"CLC(
kernel void scale(global const float* in, global float* out, float factor) {
    size_t i = get_global_id(0);
    out[i] = in[i] * factor;
}
kernel void fill(global float* out, float value) { out[get_global_id(0)] = value; }
)CLC";

int main() {
    cl::Device device = cl::Device::getDefault();
    cl::Context context(device);
    cl::CommandQueue queue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl::Program program(context, source, true);
    cl::KernelFunctor<cl::Buffer, float> fill(program, "fill");
    cl::KernelFunctor<cl::Buffer, cl::Buffer, float> scale(program, "scale");
    const size_t count = 4096;
    cl::Buffer in(context, CL_MEM_READ_WRITE, count * sizeof(float));
    cl::Buffer out(context, CL_MEM_READ_WRITE, count * sizeof(float));
    cl::Event filled = fill(cl::EnqueueArgs(queue, cl::NDRange(count)), in, 1.0f);
    scale(cl::EnqueueArgs(queue, cl::NDRange(count)), in, out, 2.0f).wait();  // expect: SS109
    queue.finish();
    return 0;
}
