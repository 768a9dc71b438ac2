// A class owns shared virtual memory; its destructor runs while the kernel may still write there.
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

class SharedFloats {
public:
    SharedFloats(cl::Context context, size_t count) : context_(context) {
        data_ = static_cast<float*>(clSVMAlloc(context_(), CL_MEM_READ_WRITE, count * sizeof(float), 0));
    }
    ~SharedFloats() { clSVMFree(context_(), data_); }  // expect: SS102
    SharedFloats(const SharedFloats&) = delete;
    SharedFloats& operator=(const SharedFloats&) = delete;
    float* data() const { return data_; }

private:
    cl::Context context_;
    float* data_;
};

int main() {
    cl::Device device = cl::Device::getDefault();
    cl::Context context(device);
    cl::CommandQueue queue(context, device);
    cl::Program program(context, source, true);
    cl::Kernel fill(program, "fill");
    const size_t count = 1 << 14;
    {
        SharedFloats values(context, count);
        clSetKernelArgSVMPointer(fill(), 0, values.data());
        fill.setArg(1, 5.0f);
        queue.enqueueNDRangeKernel(fill, cl::NullRange, cl::NDRange(count));
    }
    queue.finish();
    return 0;
}
