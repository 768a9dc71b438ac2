// A class downloads into a vector without blocking, and its caller reads the vector at once.
#define CL_HPP_TARGET_OPENCL_VERSION 200
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <cstdio>
#include <vector>

static const char* const source = R"CLC(
kernel void scale(global const float* in, global float* out, float factor) {
    size_t i = get_global_id(0);
    out[i] = in[i] * factor;
}
kernel void fill(global float* out, float value) { out[get_global_id(0)] = value; }
)CLC";

class Scaler {
public:
    Scaler(const cl::Context& context, const cl::Device& device, size_t count)
        : count_(count),
          queue_(context, device),
          program_(context, source, true),
          kernel_(program_, "scale"),
          in_(context, CL_MEM_READ_ONLY, count * sizeof(float)),
          out_(context, CL_MEM_WRITE_ONLY, count * sizeof(float)) {}

    void run(const std::vector<float>& values, std::vector<float>& result, float factor) {
        queue_.enqueueWriteBuffer(in_, CL_TRUE, 0, count_ * sizeof(float), values.data());
        kernel_.setArg(0, in_);
        kernel_.setArg(1, out_);
        kernel_.setArg(2, factor);
        queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange(count_));
        queue_.enqueueReadBuffer(out_, CL_FALSE, 0, count_ * sizeof(float), result.data());
    }

    void wait() { queue_.finish(); }

private:
    size_t count_;
    cl::CommandQueue queue_;
    cl::Program program_;
    cl::Kernel kernel_;
    cl::Buffer in_;
    cl::Buffer out_;
};

int main() {
    cl::Device device = cl::Device::getDefault();
    cl::Context context(device);
    const size_t count = 1024;
    Scaler scaler(context, device, count);
    std::vector<float> values(count, 1.5f), result(count);
    scaler.run(values, result, 2.0f);
    scaler.wait();
    std::printf("%f\n", result[0]);
    return 0;
}
