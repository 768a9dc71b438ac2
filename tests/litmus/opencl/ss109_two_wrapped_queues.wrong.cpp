// Upload and compute have a queue each; the upload's event belongs into the kernel's wait list.
#define CL_HPP_TARGET_OPENCL_VERSION 200
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <vector>

static const char* const source = R"CLC(
kernel void scale(global const float* in, global float* out, float factor) {
    size_t i = get_global_id(0);
    out[i] = in[i] * factor;
}
kernel void fill(global float* out, float value) { out[get_global_id(0)] = value; }
)CLC";

class Stage {
public:
    Stage(const cl::Context& context, const cl::Device& device)
        : upload_(context, device), compute_(context, device), program_(context, source, true), scale_(program_, "scale") {}

    cl::Event send(const cl::Buffer& to, const std::vector<float>& values) {
        cl::Event sent;
        upload_.enqueueWriteBuffer(to, CL_FALSE, 0, values.size() * sizeof(float), values.data(), nullptr, &sent);
        upload_.flush();
        return sent;
    }

    void process(const cl::Buffer& in, const cl::Buffer& out, size_t count, const std::vector<cl::Event>* after) {
        scale_.setArg(0, in);
        scale_.setArg(1, out);
        scale_.setArg(2, 2.0f);
        compute_.enqueueNDRangeKernel(scale_, cl::NullRange, cl::NDRange(count), cl::NullRange, after);  // expect: SS109
    }

    void finish() {
        compute_.finish();
        upload_.finish();
    }

private:
    cl::CommandQueue upload_, compute_;
    cl::Program program_;
    cl::Kernel scale_;
};

int main() {
    cl::Device device = cl::Device::getDefault();
    cl::Context context(device);
    const size_t count = 4096;
    cl::Buffer in(context, CL_MEM_READ_ONLY, count * sizeof(float)), out(context, CL_MEM_WRITE_ONLY, count * sizeof(float));
    Stage stage(context, device);
    std::vector<float> values(count, 1.0f);
    std::vector<cl::Event> sent{stage.send(in, values)};
    stage.process(in, out, count, nullptr);
    stage.finish();
    return 0;
}
