// Uploads through a mapped staging buffer (CL_MEM_ALLOC_HOST_PTR), one chunk after the other.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CLV(expression)                                                                       \
    [&] {                                                                                     \
        cl_int err = CL_SUCCESS;                                                              \
        auto value = expression;                                                              \
        if (err != CL_SUCCESS) { std::fprintf(stderr, "%s: %d\n", #expression, err); std::exit(1); } \
        return value;                                                                         \
    }()
#define CLS(expression) do { cl_int e = (expression); if (e) { std::fprintf(stderr, "%s: %d\n", #expression, e); std::exit(1); } } while (0)

class Uploader {
public:
    Uploader(cl_context context, cl_device_id device, std::size_t chunk) : chunk_(chunk)
    {
        queue_ = CLV(clCreateCommandQueue(context, device, 0, &err));
        stage_ = CLV(clCreateBuffer(context, CL_MEM_ALLOC_HOST_PTR, chunk, nullptr, &err));
        pointer_ = CLV(clEnqueueMapBuffer(queue_, stage_, CL_TRUE, CL_MAP_WRITE, 0, chunk_, 0, nullptr, nullptr, &err));
    }
    ~Uploader()
    {
        CLS(clFinish(queue_));
        clEnqueueUnmapMemObject(queue_, stage_, pointer_, 0, nullptr, nullptr);
        CLS(clFinish(queue_));
        clReleaseMemObject(stage_);
        clReleaseCommandQueue(queue_);
    }
    void upload(cl_mem target, const unsigned char *from, std::size_t bytes)
    {
        cl_event sent = nullptr;
        for (std::size_t at = 0; at < bytes; at += chunk_) {
            if (sent) {
                CLS(clReleaseEvent(sent));
            }
            std::memcpy(pointer_, from + at, chunk_);  // expect: SS108
            CLS(clEnqueueWriteBuffer(queue_, target, CL_FALSE, at, chunk_, pointer_, 0, nullptr, &sent));
        }
        CLS(clWaitForEvents(1, &sent));
        CLS(clReleaseEvent(sent));
    }
    void download(cl_mem source, unsigned char *to, std::size_t bytes)
    {
        CLS(clEnqueueReadBuffer(queue_, source, CL_TRUE, 0, bytes, to, 0, nullptr, nullptr));
    }

private:
    std::size_t chunk_;
    cl_command_queue queue_;
    cl_mem stage_;
    void *pointer_;
};

int main()
{
    const std::size_t bytes = 1 << 16;
    cl_platform_id platform;
    cl_device_id device;
    CLS(clGetPlatformIDs(1, &platform, nullptr));
    CLS(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
    cl_context context = CLV(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &err));
    std::vector<unsigned char> in(bytes), out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) in[i] = static_cast<unsigned char>(i * 5 + i / 256);
    cl_mem target = CLV(clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &err));
    {
        Uploader uploader(context, device, bytes / 8);
        uploader.upload(target, in.data(), bytes);
        uploader.download(target, out.data(), bytes);
    }
    CLS(clReleaseMemObject(target));
    CLS(clReleaseContext(context));
    std::puts(in == out ? "ok" : "bad");
    return in != out;
}
