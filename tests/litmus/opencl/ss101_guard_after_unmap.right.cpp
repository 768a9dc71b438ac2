// A guard maps a buffer for its scope; a pointer that it gave out is used after the scope.
#define CL_HPP_TARGET_OPENCL_VERSION 200
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <cstring>

class MappedFloats {
public:
    MappedFloats(const cl::CommandQueue& queue, const cl::Buffer& buffer, size_t count)
        : queue_(queue), buffer_(buffer) {
        data_ = static_cast<float*>(
            queue_.enqueueMapBuffer(buffer_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, count * sizeof(float)));
    }
    ~MappedFloats() {
        queue_.enqueueUnmapMemObject(buffer_, data_);
        queue_.finish();
    }
    MappedFloats(const MappedFloats&) = delete;
    MappedFloats& operator=(const MappedFloats&) = delete;
    float* data() const { return data_; }

private:
    cl::CommandQueue queue_;
    cl::Buffer buffer_;
    float* data_;
};

int main() {
    cl::Device device = cl::Device::getDefault();
    cl::Context context(device);
    cl::CommandQueue queue(context, device);
    const size_t count = 256;
    cl::Buffer buffer(context, CL_MEM_READ_WRITE, count * sizeof(float));
    float* values = nullptr;
    {
        MappedFloats mapped(queue, buffer, count);
        values = mapped.data();
        std::memset(values, 0, count * sizeof(float));
        values[0] = 1.0f;
    }
    return 0;
}
