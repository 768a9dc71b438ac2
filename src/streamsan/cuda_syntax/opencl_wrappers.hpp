// OpenCL's C++ wrappers as this tool reads them: the classes of CL/opencl.hpp, as calls of the C interface. Not for compilers.
#pragma once
namespace cl {

using size_type = size_t;
template <typename T> using vector = std::vector<T>;
using string = std::string;

class Error {
public:
    cl_int err_ = 0;
    Error(cl_int err, const char* text = nullptr) { err_ = err; }
    cl_int err() const { return err_; }
    const char* what() const { return ""; }
};

class NDRange {
public:
    size_t sizes_[3] = {0, 0, 0};
    cl_uint dimensions_ = 0;
    NDRange() {}
    NDRange(size_t size0) { sizes_[0] = size0; sizes_[1] = 1; sizes_[2] = 1; dimensions_ = 1; }
    NDRange(size_t size0, size_t size1) { sizes_[0] = size0; sizes_[1] = size1; sizes_[2] = 1; dimensions_ = 2; }
    NDRange(size_t size0, size_t size1, size_t size2) { sizes_[0] = size0; sizes_[1] = size1; sizes_[2] = size2; dimensions_ = 3; }
    size_t dimensions() const { return dimensions_; }
    const size_t* get() const { return dimensions_ ? sizes_ : nullptr; }
};
static const NDRange NullRange;

struct LocalSpaceArg { size_t size_; };
inline LocalSpaceArg Local(size_t size) { LocalSpaceArg made; made.size_ = size; return made; }

class ImageFormat {
public:
    cl_uint image_channel_order = 0;
    cl_uint image_channel_data_type = 0;
    ImageFormat() {}
    ImageFormat(cl_uint order, cl_uint type) { image_channel_order = order; image_channel_data_type = type; }
};
class Context;
class Device;
class CommandQueue;
class Event;
class Program;
class Kernel;

class Device {
public:
    cl_device_id object_ = nullptr;
    Device() {}
    explicit Device(const cl_device_id& object, bool retainObject = false) { object_ = object; }
    cl_device_id operator()() const { return object_; }
    cl_device_id& operator()() { return object_; }
    cl_device_id get() const { return object_; }
    template <cl_int name> auto getInfo(cl_int* err = nullptr) const { cl_ulong value; clGetDeviceInfo(object_, name, sizeof(value), &value, nullptr); if (err) *err = CL_SUCCESS; return value; }
    template <typename T> cl_int getInfo(cl_uint name, T* param) const { return clGetDeviceInfo(object_, name, sizeof(*param), param, nullptr); }
    static Device getDefault(cl_int* err = nullptr) { cl_device_id id; clGetDeviceIDs(nullptr, CL_DEVICE_TYPE_DEFAULT, 1, &id, nullptr); return Device(id); }
    static Device setDefault(const Device& device) { return device; }
    bool operator==(const Device& other) const { return object_ == other.object_; }
};

class Platform {
public:
    cl_platform_id object_ = nullptr;
    Platform() {}
    explicit Platform(const cl_platform_id& object, bool retainObject = false) { object_ = object; }
    cl_platform_id operator()() const { return object_; }
    cl_platform_id& operator()() { return object_; }
    cl_platform_id get() const { return object_; }
    template <cl_int name> auto getInfo(cl_int* err = nullptr) const { cl_ulong value; clGetPlatformInfo(object_, name, sizeof(value), &value, nullptr); if (err) *err = CL_SUCCESS; return value; }
    template <typename T> cl_int getInfo(cl_uint name, T* param) const { return clGetPlatformInfo(object_, name, sizeof(*param), param, nullptr); }
    static cl_int get(std::vector<Platform>* platforms) { cl_platform_id id; cl_int status = clGetPlatformIDs(1, &id, nullptr); platforms->clear(); platforms->push_back(Platform(id)); return status; }
    static Platform get(cl_int* err = nullptr) { cl_platform_id id; clGetPlatformIDs(1, &id, nullptr); return Platform(id); }
    static Platform getDefault(cl_int* err = nullptr) { cl_platform_id id; clGetPlatformIDs(1, &id, nullptr); return Platform(id); }
    static Platform setDefault(const Platform& platform) { return platform; }
    cl_int getDevices(cl_device_type type, std::vector<Device>* devices) const { cl_device_id id; cl_int status = clGetDeviceIDs(object_, type, 1, &id, nullptr); devices->clear(); devices->push_back(Device(id)); return status; }
    cl_int unloadCompiler() { return CL_SUCCESS; }
};

class Context {
public:
    cl_context object_ = nullptr;
    Context() {}
    explicit Context(const cl_context& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainContext(object_); }
    Context(const Context& other) { object_ = other.object_; if (object_) clRetainContext(object_); }
    Context(Context&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    ~Context() { if (object_) clReleaseContext(object_); }
    Context& operator=(const Context& other) { if (this != &other) { if (object_) clReleaseContext(object_); object_ = other.object_; if (object_) clRetainContext(object_); } return *this; }
    Context& operator=(Context&& other) { if (this != &other) { if (object_) clReleaseContext(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Context& operator=(const cl_context& object) { if (object_) clReleaseContext(object_); object_ = object; return *this; }
    cl_context operator()() const { return object_; }
    cl_context& operator()() { return object_; }
    cl_context get() const { return object_; }
    Context(const std::vector<Device>& devices, const cl_context_properties* properties = nullptr, void* notify = nullptr, void* data = nullptr, cl_int* err = nullptr) { cl_int error; object_ = clCreateContext(nullptr, 1, nullptr, nullptr, nullptr, &error); if (err) *err = error; }
    Context(const Device& device, const cl_context_properties* properties = nullptr, void* notify = nullptr, void* data = nullptr, cl_int* err = nullptr) { cl_int error; object_ = clCreateContext(nullptr, 1, nullptr, nullptr, nullptr, &error); if (err) *err = error; }
    Context(cl_device_type type, const cl_context_properties* properties = nullptr, void* notify = nullptr, void* data = nullptr, cl_int* err = nullptr) { cl_int error; object_ = clCreateContextFromType(nullptr, type, nullptr, nullptr, &error); if (err) *err = error; }
    static Context& getDefault(cl_int* err = nullptr) { static Context made(CL_DEVICE_TYPE_DEFAULT); return made; }
    static Context setDefault(const Context& context) { return context; }
    cl_int setDestructorCallback(void* notify, void* data = nullptr) { return CL_SUCCESS; }
    template <cl_int name> auto getInfo(cl_int* err = nullptr) const { cl_ulong value; clGetContextInfo(object_, name, sizeof(value), &value, nullptr); if (err) *err = CL_SUCCESS; return value; }
    template <typename T> cl_int getInfo(cl_uint name, T* param) const { return clGetContextInfo(object_, name, sizeof(*param), param, nullptr); }
};

class Event {
public:
    cl_event object_ = nullptr;
    Event() {}
    explicit Event(const cl_event& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainEvent(object_); }
    Event(const Event& other) { object_ = other.object_; if (object_) clRetainEvent(object_); }
    Event(Event&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    ~Event() { if (object_) clReleaseEvent(object_); }
    Event& operator=(const Event& other) { if (this != &other) { if (object_) clReleaseEvent(object_); object_ = other.object_; if (object_) clRetainEvent(object_); } return *this; }
    Event& operator=(Event&& other) { if (this != &other) { if (object_) clReleaseEvent(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Event& operator=(const cl_event& object) { if (object_) clReleaseEvent(object_); object_ = object; return *this; }
    cl_event operator()() const { return object_; }
    cl_event& operator()() { return object_; }
    cl_event get() const { return object_; }
    template <cl_int name> auto getInfo(cl_int* err = nullptr) const { cl_ulong value; clGetEventInfo(object_, name, sizeof(value), &value, nullptr); if (err) *err = CL_SUCCESS; return value; }
    template <typename T> cl_int getInfo(cl_uint name, T* param) const { return clGetEventInfo(object_, name, sizeof(*param), param, nullptr); }
    template <cl_int name> auto getProfilingInfo(cl_int* err = nullptr) const { cl_ulong value; clGetEventProfilingInfo(object_, name, sizeof(value), &value, nullptr); return value; }
    cl_int getProfilingInfo(cl_uint name, cl_ulong* value) const { return clGetEventProfilingInfo(object_, name, sizeof(*value), value, nullptr); }
    cl_int wait() const { return clWaitForEvents(1, &object_); }
    template <typename F> cl_int setCallback(cl_int type, F notify, void* data = nullptr) { return clSetEventCallback(object_, type, notify, data); }
    static cl_int waitForEvents(const std::vector<Event>& events) { return clWaitForEvents((cl_uint)events.size(), events.empty() ? nullptr : (cl_event*)&events.front()); }
};

inline cl_int WaitForEvents(const std::vector<Event>& events) { return clWaitForEvents((cl_uint)events.size(), events.empty() ? nullptr : (cl_event*)&events.front()); }

class UserEvent : public Event {
public:
    UserEvent() {}
    explicit UserEvent(const cl_event& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainEvent(object_); }
    UserEvent(const UserEvent& other) { object_ = other.object_; if (object_) clRetainEvent(object_); }
    UserEvent(UserEvent&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    UserEvent& operator=(const UserEvent& other) { if (this != &other) { if (object_) clReleaseEvent(object_); object_ = other.object_; if (object_) clRetainEvent(object_); } return *this; }
    UserEvent& operator=(UserEvent&& other) { if (this != &other) { if (object_) clReleaseEvent(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    UserEvent& operator=(const cl_event& object) { if (object_) clReleaseEvent(object_); object_ = object; return *this; }
    UserEvent(const Context& context, cl_int* err = nullptr) { cl_int error; object_ = clCreateUserEvent(context.object_, &error); if (err) *err = error; }
    cl_int setStatus(cl_int status) { return clSetUserEventStatus(object_, status); }
};

class Memory {
public:
    cl_mem object_ = nullptr;
    Memory() {}
    explicit Memory(const cl_mem& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainMemObject(object_); }
    Memory(const Memory& other) { object_ = other.object_; if (object_) clRetainMemObject(object_); }
    Memory(Memory&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    ~Memory() { if (object_) clReleaseMemObject(object_); }
    Memory& operator=(const Memory& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; if (object_) clRetainMemObject(object_); } return *this; }
    Memory& operator=(Memory&& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Memory& operator=(const cl_mem& object) { if (object_) clReleaseMemObject(object_); object_ = object; return *this; }
    cl_mem operator()() const { return object_; }
    cl_mem& operator()() { return object_; }
    cl_mem get() const { return object_; }
    template <cl_int name> auto getInfo(cl_int* err = nullptr) const { cl_ulong value; clGetMemObjectInfo(object_, name, sizeof(value), &value, nullptr); if (err) *err = CL_SUCCESS; return value; }
    template <typename T> cl_int getInfo(cl_uint name, T* param) const { return clGetMemObjectInfo(object_, name, sizeof(*param), param, nullptr); }
    cl_int setDestructorCallback(void* notify, void* data = nullptr) { return CL_SUCCESS; }
};

class Buffer : public Memory {
public:
    Buffer() {}
    explicit Buffer(const cl_mem& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainMemObject(object_); }
    Buffer(const Buffer& other) { object_ = other.object_; if (object_) clRetainMemObject(object_); }
    Buffer(Buffer&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    Buffer& operator=(const Buffer& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; if (object_) clRetainMemObject(object_); } return *this; }
    Buffer& operator=(Buffer&& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Buffer& operator=(const cl_mem& object) { if (object_) clReleaseMemObject(object_); object_ = object; return *this; }
    Buffer(const Context& context, cl_mem_flags flags, size_t size, void* host_ptr = nullptr, cl_int* err = nullptr) { cl_int error; object_ = clCreateBuffer(context.object_, flags, size, host_ptr, &error); if (err) *err = error; }
    Buffer(cl_mem_flags flags, size_t size, void* host_ptr = nullptr, cl_int* err = nullptr) { cl_int error; object_ = clCreateBuffer(Context::getDefault().object_, flags, size, host_ptr, &error); if (err) *err = error; }
    template <typename I> Buffer(I begin, I end, bool readOnly, bool useHostPtr = false, cl_int* err = nullptr) { cl_int error; size_t size = sizeof(*begin) * (end - begin); object_ = clCreateBuffer(Context::getDefault().object_, (readOnly ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE) | (useHostPtr ? CL_MEM_USE_HOST_PTR : 0), size, useHostPtr ? &*begin : nullptr, &error); if (err) *err = error; }
    template <typename I> Buffer(const Context& context, I begin, I end, bool readOnly, bool useHostPtr = false, cl_int* err = nullptr) { cl_int error; size_t size = sizeof(*begin) * (end - begin); object_ = clCreateBuffer(context.object_, (readOnly ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE) | (useHostPtr ? CL_MEM_USE_HOST_PTR : 0), size, useHostPtr ? &*begin : nullptr, &error); if (err) *err = error; }
    template <typename I> Buffer(const CommandQueue& queue, I begin, I end, bool readOnly, bool useHostPtr = false, cl_int* err = nullptr) { cl_int error; size_t size = sizeof(*begin) * (end - begin); object_ = clCreateBuffer(Context::getDefault().object_, (readOnly ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE) | (useHostPtr ? CL_MEM_USE_HOST_PTR : 0), size, useHostPtr ? &*begin : nullptr, &error); if (err) *err = error; }
    Buffer createSubBuffer(cl_mem_flags flags, cl_uint type, const void* info, cl_int* err = nullptr) { cl_int error; Buffer made; made.object_ = clCreateSubBuffer(object_, flags, type, info, &error); if (err) *err = error; return made; }
};

class Image : public Memory {
public:
    Image() {}
    explicit Image(const cl_mem& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainMemObject(object_); }
    Image(const Image& other) { object_ = other.object_; if (object_) clRetainMemObject(object_); }
    Image(Image&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    Image& operator=(const Image& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; if (object_) clRetainMemObject(object_); } return *this; }
    Image& operator=(Image&& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Image& operator=(const cl_mem& object) { if (object_) clReleaseMemObject(object_); object_ = object; return *this; }
    template <cl_int name> auto getImageInfo(cl_int* err = nullptr) const { cl_ulong value; clGetImageInfo(object_, name, sizeof(value), &value, nullptr); return value; }
};

class Image1D : public Image {
public:
    Image1D() {}
    explicit Image1D(const cl_mem& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainMemObject(object_); }
    Image1D(const Image1D& other) { object_ = other.object_; if (object_) clRetainMemObject(object_); }
    Image1D(Image1D&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    Image1D& operator=(const Image1D& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; if (object_) clRetainMemObject(object_); } return *this; }
    Image1D& operator=(Image1D&& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Image1D& operator=(const cl_mem& object) { if (object_) clReleaseMemObject(object_); object_ = object; return *this; }
    Image1D(const Context& context, cl_mem_flags flags, ImageFormat format, size_t width, void* host_ptr = nullptr, cl_int* err = nullptr) { cl_int error; cl_image_desc desc; object_ = clCreateImage(context.object_, flags, (const cl_image_format*)&format, &desc, host_ptr, &error); if (err) *err = error; }
};

class Image2D : public Image {
public:
    Image2D() {}
    explicit Image2D(const cl_mem& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainMemObject(object_); }
    Image2D(const Image2D& other) { object_ = other.object_; if (object_) clRetainMemObject(object_); }
    Image2D(Image2D&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    Image2D& operator=(const Image2D& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; if (object_) clRetainMemObject(object_); } return *this; }
    Image2D& operator=(Image2D&& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Image2D& operator=(const cl_mem& object) { if (object_) clReleaseMemObject(object_); object_ = object; return *this; }
    Image2D(const Context& context, cl_mem_flags flags, ImageFormat format, size_t width, size_t height, size_t row_pitch = 0, void* host_ptr = nullptr, cl_int* err = nullptr) { cl_int error; cl_image_desc desc; object_ = clCreateImage(context.object_, flags, (const cl_image_format*)&format, &desc, host_ptr, &error); if (err) *err = error; }
};

class Image3D : public Image {
public:
    Image3D() {}
    explicit Image3D(const cl_mem& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainMemObject(object_); }
    Image3D(const Image3D& other) { object_ = other.object_; if (object_) clRetainMemObject(object_); }
    Image3D(Image3D&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    Image3D& operator=(const Image3D& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; if (object_) clRetainMemObject(object_); } return *this; }
    Image3D& operator=(Image3D&& other) { if (this != &other) { if (object_) clReleaseMemObject(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Image3D& operator=(const cl_mem& object) { if (object_) clReleaseMemObject(object_); object_ = object; return *this; }
    Image3D(const Context& context, cl_mem_flags flags, ImageFormat format, size_t width, size_t height, size_t depth, size_t row_pitch = 0, size_t slice_pitch = 0, void* host_ptr = nullptr, cl_int* err = nullptr) { cl_int error; cl_image_desc desc; object_ = clCreateImage(context.object_, flags, (const cl_image_format*)&format, &desc, host_ptr, &error); if (err) *err = error; }
};

class Sampler {
public:
    cl_sampler object_ = nullptr;
    Sampler() {}
    explicit Sampler(const cl_sampler& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainSampler(object_); }
    Sampler(const Sampler& other) { object_ = other.object_; if (object_) clRetainSampler(object_); }
    Sampler(Sampler&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    ~Sampler() { if (object_) clReleaseSampler(object_); }
    Sampler& operator=(const Sampler& other) { if (this != &other) { if (object_) clReleaseSampler(object_); object_ = other.object_; if (object_) clRetainSampler(object_); } return *this; }
    Sampler& operator=(Sampler&& other) { if (this != &other) { if (object_) clReleaseSampler(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Sampler& operator=(const cl_sampler& object) { if (object_) clReleaseSampler(object_); object_ = object; return *this; }
    cl_sampler operator()() const { return object_; }
    cl_sampler& operator()() { return object_; }
    cl_sampler get() const { return object_; }
    Sampler(const Context& context, cl_bool normalized, cl_uint addressing, cl_uint filter, cl_int* err = nullptr) { cl_int error; object_ = clCreateSampler(context.object_, normalized, addressing, filter, &error); if (err) *err = error; }
};

class Program {
public:
    cl_program object_ = nullptr;
    Program() {}
    explicit Program(const cl_program& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainProgram(object_); }
    Program(const Program& other) { object_ = other.object_; if (object_) clRetainProgram(object_); }
    Program(Program&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    ~Program() { if (object_) clReleaseProgram(object_); }
    Program& operator=(const Program& other) { if (this != &other) { if (object_) clReleaseProgram(object_); object_ = other.object_; if (object_) clRetainProgram(object_); } return *this; }
    Program& operator=(Program&& other) { if (this != &other) { if (object_) clReleaseProgram(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Program& operator=(const cl_program& object) { if (object_) clReleaseProgram(object_); object_ = object; return *this; }
    cl_program operator()() const { return object_; }
    cl_program& operator()() { return object_; }
    cl_program get() const { return object_; }
    Program(const std::string& source, bool build = false, cl_int* err = nullptr) { cl_int error; const char* text = source.c_str(); object_ = clCreateProgramWithSource(Context::getDefault().object_, 1, &text, nullptr, &error); if (err) *err = error; }
    Program(const Context& context, const std::string& source, bool build = false, cl_int* err = nullptr) { cl_int error; const char* text = source.c_str(); object_ = clCreateProgramWithSource(context.object_, 1, &text, nullptr, &error); if (err) *err = error; }
    Program(const Context& context, const std::vector<std::string>& sources, cl_int* err = nullptr) { cl_int error; object_ = clCreateProgramWithSource(context.object_, (cl_uint)sources.size(), nullptr, nullptr, &error); if (err) *err = error; }
    Program(const Context& context, const std::vector<Device>& devices, const std::vector<std::vector<unsigned char>>& binaries, std::vector<cl_int>* status = nullptr, cl_int* err = nullptr) { cl_int error; object_ = clCreateProgramWithBinary(context.object_, 1, nullptr, nullptr, nullptr, nullptr, &error); if (err) *err = error; }
    cl_int build(const char* options = nullptr, void* notify = nullptr, void* data = nullptr) const { return clBuildProgram(object_, 0, nullptr, options, nullptr, nullptr); }
    cl_int build(const std::vector<Device>& devices, const char* options = nullptr, void* notify = nullptr, void* data = nullptr) const { return clBuildProgram(object_, 0, nullptr, options, nullptr, nullptr); }
    cl_int build(const Device& device, const char* options = nullptr, void* notify = nullptr, void* data = nullptr) const { return clBuildProgram(object_, 0, nullptr, options, nullptr, nullptr); }
    template <cl_int name> auto getBuildInfo(const Device& device, cl_int* err = nullptr) const { cl_ulong value; clGetProgramBuildInfo(object_, device.object_, name, sizeof(value), &value, nullptr); return value; }
    cl_int createKernels(std::vector<Kernel>* kernels) { return CL_SUCCESS; }
    template <cl_int name> auto getInfo(cl_int* err = nullptr) const { cl_ulong value; clGetProgramInfo(object_, name, sizeof(value), &value, nullptr); if (err) *err = CL_SUCCESS; return value; }
    template <typename T> cl_int getInfo(cl_uint name, T* param) const { return clGetProgramInfo(object_, name, sizeof(*param), param, nullptr); }
};

class Kernel {
public:
    cl_kernel object_ = nullptr;
    Kernel() {}
    explicit Kernel(const cl_kernel& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainKernel(object_); }
    Kernel(const Kernel& other) { object_ = other.object_; if (object_) clRetainKernel(object_); }
    Kernel(Kernel&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    ~Kernel() { if (object_) clReleaseKernel(object_); }
    Kernel& operator=(const Kernel& other) { if (this != &other) { if (object_) clReleaseKernel(object_); object_ = other.object_; if (object_) clRetainKernel(object_); } return *this; }
    Kernel& operator=(Kernel&& other) { if (this != &other) { if (object_) clReleaseKernel(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    Kernel& operator=(const cl_kernel& object) { if (object_) clReleaseKernel(object_); object_ = object; return *this; }
    cl_kernel operator()() const { return object_; }
    cl_kernel& operator()() { return object_; }
    cl_kernel get() const { return object_; }
    Kernel(const Program& program, const char* name, cl_int* err = nullptr) { cl_int error; object_ = clCreateKernel(program.object_, name, &error); if (err) *err = error; }
    Kernel(const Program& program, const std::string& name, cl_int* err = nullptr) { cl_int error; object_ = clCreateKernel(program.object_, name.c_str(), &error); if (err) *err = error; }
    template <typename T> cl_int setArg(cl_uint index, const T& value) { return clSetKernelArg(object_, index, sizeof(value), &value); }
    cl_int setArg(cl_uint index, size_t size, const void* value) { return clSetKernelArg(object_, index, size, value); }
    template <typename T> cl_int setSVMPointers(const std::vector<T*>& pointers) { return clSetKernelExecInfo(object_, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(void*) * pointers.size(), pointers.data()); }
    template <cl_int name> auto getWorkGroupInfo(const Device& device, cl_int* err = nullptr) const { cl_ulong value; clGetKernelWorkGroupInfo(object_, device.object_, name, sizeof(value), &value, nullptr); return value; }
    Kernel clone() { cl_int error; Kernel made; made.object_ = clCloneKernel(object_, &error); return made; }
    template <cl_int name> auto getInfo(cl_int* err = nullptr) const { cl_ulong value; clGetKernelInfo(object_, name, sizeof(value), &value, nullptr); if (err) *err = CL_SUCCESS; return value; }
    template <typename T> cl_int getInfo(cl_uint name, T* param) const { return clGetKernelInfo(object_, name, sizeof(*param), param, nullptr); }
};

class CommandQueue {
public:
    cl_command_queue object_ = nullptr;
    CommandQueue() {}
    explicit CommandQueue(const cl_command_queue& object, bool retainObject = false) { object_ = object; if (retainObject && object_) clRetainCommandQueue(object_); }
    CommandQueue(const CommandQueue& other) { object_ = other.object_; if (object_) clRetainCommandQueue(object_); }
    CommandQueue(CommandQueue&& other) noexcept { object_ = other.object_; other.object_ = nullptr; }
    ~CommandQueue() { if (object_) clReleaseCommandQueue(object_); }
    CommandQueue& operator=(const CommandQueue& other) { if (this != &other) { if (object_) clReleaseCommandQueue(object_); object_ = other.object_; if (object_) clRetainCommandQueue(object_); } return *this; }
    CommandQueue& operator=(CommandQueue&& other) { if (this != &other) { if (object_) clReleaseCommandQueue(object_); object_ = other.object_; other.object_ = nullptr; } return *this; }
    CommandQueue& operator=(const cl_command_queue& object) { if (object_) clReleaseCommandQueue(object_); object_ = object; return *this; }
    cl_command_queue operator()() const { return object_; }
    cl_command_queue& operator()() { return object_; }
    cl_command_queue get() const { return object_; }
    CommandQueue(const Context& context, const Device& device, cl_command_queue_properties properties = 0, cl_int* err = nullptr) { cl_int error; object_ = clCreateCommandQueue(context.object_, device.object_, properties, &error); if (err) *err = error; }
    CommandQueue(const Context& context, cl_command_queue_properties properties = 0, cl_int* err = nullptr) { cl_int error; object_ = clCreateCommandQueue(context.object_, nullptr, properties, &error); if (err) *err = error; }
    CommandQueue(cl_command_queue_properties properties, cl_int* err = nullptr) { cl_int error; object_ = clCreateCommandQueue(Context::getDefault().object_, nullptr, properties, &error); if (err) *err = error; }
    static CommandQueue& getDefault(cl_int* err = nullptr) { static CommandQueue made(Context::getDefault(), (cl_command_queue_properties)0); return made; }
    static CommandQueue setDefault(const CommandQueue& queue) { return queue; }
    cl_int enqueueReadBuffer(const Buffer& buffer, cl_bool blocking, size_t offset, size_t size, void* ptr, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueReadBuffer(object_, buffer.object_, blocking, offset, size, ptr, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueWriteBuffer(const Buffer& buffer, cl_bool blocking, size_t offset, size_t size, const void* ptr, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueWriteBuffer(object_, buffer.object_, blocking, offset, size, ptr, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueCopyBuffer(const Buffer& src, const Buffer& dst, size_t src_offset, size_t dst_offset, size_t size, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueCopyBuffer(object_, src.object_, dst.object_, src_offset, dst_offset, size, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    template <typename T> cl_int enqueueFillBuffer(const Buffer& buffer, T pattern, size_t offset, size_t size, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueFillBuffer(object_, buffer.object_, &pattern, sizeof(pattern), offset, size, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueReadBufferRect(const Buffer& buffer, cl_bool blocking, const std::array<size_t, 3>& buffer_offset, const std::array<size_t, 3>& host_offset, const std::array<size_t, 3>& region, size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch, void* ptr, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueReadBufferRect(object_, buffer.object_, blocking, buffer_offset.data(), host_offset.data(), region.data(), buffer_row_pitch, buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueWriteBufferRect(const Buffer& buffer, cl_bool blocking, const std::array<size_t, 3>& buffer_offset, const std::array<size_t, 3>& host_offset, const std::array<size_t, 3>& region, size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch, const void* ptr, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueWriteBufferRect(object_, buffer.object_, blocking, buffer_offset.data(), host_offset.data(), region.data(), buffer_row_pitch, buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueCopyBufferRect(const Buffer& src, const Buffer& dst, const std::array<size_t, 3>& src_origin, const std::array<size_t, 3>& dst_origin, const std::array<size_t, 3>& region, size_t src_row_pitch, size_t src_slice_pitch, size_t dst_row_pitch, size_t dst_slice_pitch, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueCopyBufferRect(object_, src.object_, dst.object_, src_origin.data(), dst_origin.data(), region.data(), src_row_pitch, src_slice_pitch, dst_row_pitch, dst_slice_pitch, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueReadImage(const Image& image, cl_bool blocking, const std::array<size_t, 3>& origin, const std::array<size_t, 3>& region, size_t row_pitch, size_t slice_pitch, void* ptr, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueReadImage(object_, image.object_, blocking, origin.data(), region.data(), row_pitch, slice_pitch, ptr, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueWriteImage(const Image& image, cl_bool blocking, const std::array<size_t, 3>& origin, const std::array<size_t, 3>& region, size_t row_pitch, size_t slice_pitch, const void* ptr, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueWriteImage(object_, image.object_, blocking, origin.data(), region.data(), row_pitch, slice_pitch, ptr, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueCopyImage(const Image& src, const Image& dst, const std::array<size_t, 3>& src_origin, const std::array<size_t, 3>& dst_origin, const std::array<size_t, 3>& region, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueCopyImage(object_, src.object_, dst.object_, src_origin.data(), dst_origin.data(), region.data(), events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueCopyImageToBuffer(const Image& src, const Buffer& dst, const std::array<size_t, 3>& src_origin, const std::array<size_t, 3>& region, size_t dst_offset, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueCopyImageToBuffer(object_, src.object_, dst.object_, src_origin.data(), region.data(), dst_offset, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueCopyBufferToImage(const Buffer& src, const Image& dst, size_t src_offset, const std::array<size_t, 3>& dst_origin, const std::array<size_t, 3>& region, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueCopyBufferToImage(object_, src.object_, dst.object_, src_offset, dst_origin.data(), region.data(), events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    void* enqueueMapBuffer(const Buffer& buffer, cl_bool blocking, cl_map_flags flags, size_t offset, size_t size, const std::vector<Event>* events = nullptr, Event* event = nullptr, cl_int* err = nullptr) const { cl_event made; cl_int error; void* mapped = clEnqueueMapBuffer(object_, buffer.object_, blocking, flags, offset, size, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr, &error); if (err) *err = error; if (event != nullptr) *event = made; return mapped; }
    void* enqueueMapImage(const Image& image, cl_bool blocking, cl_map_flags flags, const std::array<size_t, 3>& origin, const std::array<size_t, 3>& region, size_t* row_pitch, size_t* slice_pitch, const std::vector<Event>* events = nullptr, Event* event = nullptr, cl_int* err = nullptr) const { cl_event made; cl_int error; void* mapped = clEnqueueMapImage(object_, image.object_, blocking, flags, origin.data(), region.data(), row_pitch, slice_pitch, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr, &error); if (err) *err = error; if (event != nullptr) *event = made; return mapped; }
    cl_int enqueueUnmapMemObject(const Memory& memory, void* mapped, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueUnmapMemObject(object_, memory.object_, mapped, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    template <typename T> cl_int enqueueMapSVM(T* ptr, cl_bool blocking, cl_map_flags flags, size_t size, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueSVMMap(object_, blocking, flags, ptr, size, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    template <typename T> cl_int enqueueUnmapSVM(T* ptr, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueSVMUnmap(object_, ptr, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueNDRangeKernel(const Kernel& kernel, const NDRange& offset, const NDRange& global, const NDRange& local = NullRange, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueNDRangeKernel(object_, kernel.object_, global.dimensions_, offset.dimensions_ ? offset.sizes_ : nullptr, global.sizes_, nullptr, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueTask(const Kernel& kernel, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueTask(object_, kernel.object_, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueMarkerWithWaitList(const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueMarkerWithWaitList(object_, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueBarrierWithWaitList(const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueBarrierWithWaitList(object_, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueMarker(Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueMarker(object_, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int enqueueWaitForEvents(const std::vector<Event>& events) const { return clEnqueueWaitForEvents(object_, (cl_uint)events.size(), events.empty() ? nullptr : (cl_event*)&events.front()); }
    cl_int enqueueBarrier() const { return clEnqueueBarrier(object_); }
    cl_int enqueueMigrateMemObjects(const std::vector<Memory>& objects, cl_mem_migration_flags flags, const std::vector<Event>* events = nullptr, Event* event = nullptr) const { cl_event made; cl_int error = clEnqueueMigrateMemObjects(object_, (cl_uint)objects.size(), objects.empty() ? nullptr : (cl_mem*)&objects.front(), flags, events != nullptr ? (cl_uint)events->size() : 0, events != nullptr && !events->empty() ? (cl_event*)&events->front() : nullptr, event != nullptr ? &made : nullptr); if (event != nullptr) *event = made; return error; }
    cl_int flush() const { return clFlush(object_); }
    cl_int finish() const { return clFinish(object_); }
    template <cl_int name> auto getInfo(cl_int* err = nullptr) const { cl_ulong value; clGetCommandQueueInfo(object_, name, sizeof(value), &value, nullptr); if (err) *err = CL_SUCCESS; return value; }
    template <typename T> cl_int getInfo(cl_uint name, T* param) const { return clGetCommandQueueInfo(object_, name, sizeof(*param), param, nullptr); }
};

class EnqueueArgs {
public:
    CommandQueue queue_;
    NDRange offset_;
    NDRange global_;
    NDRange local_;
    std::vector<Event> events_;
    EnqueueArgs(NDRange global) { queue_ = CommandQueue::getDefault(); global_ = global; }
    EnqueueArgs(NDRange global, NDRange local) { queue_ = CommandQueue::getDefault(); global_ = global; local_ = local; }
    EnqueueArgs(const CommandQueue& queue, NDRange global) { queue_ = queue; global_ = global; }
    EnqueueArgs(const CommandQueue& queue, NDRange global, NDRange local) { queue_ = queue; global_ = global; local_ = local; }
    EnqueueArgs(const CommandQueue& queue, NDRange offset, NDRange global, NDRange local) { queue_ = queue; offset_ = offset; global_ = global; local_ = local; }
    EnqueueArgs(const CommandQueue& queue, Event event, NDRange global) { queue_ = queue; events_.push_back(event); global_ = global; }
    EnqueueArgs(const CommandQueue& queue, Event event, NDRange global, NDRange local) { queue_ = queue; events_.push_back(event); global_ = global; local_ = local; }
    EnqueueArgs(const CommandQueue& queue, const std::vector<Event>& events, NDRange global) { queue_ = queue; events_ = events; global_ = global; }
    EnqueueArgs(const CommandQueue& queue, const std::vector<Event>& events, NDRange global, NDRange local) { queue_ = queue; events_ = events; global_ = global; local_ = local; }
};

template <typename... Ts> class KernelFunctor {
public:
    Kernel kernel_;
    KernelFunctor(Kernel kernel) { kernel_ = kernel; }
    KernelFunctor(const Program& program, const std::string& name, cl_int* err = nullptr) : kernel_(program, name.c_str()) { if (err) *err = CL_SUCCESS; }
    Event operator()(const EnqueueArgs& args) { Event done; args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0> Event operator()(const EnqueueArgs& args, const A0& a0) { Event done; kernel_.setArg(0, a0); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5, typename A6> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5, const A6& a6) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); kernel_.setArg(6, a6); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5, typename A6, typename A7> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5, const A6& a6, const A7& a7) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); kernel_.setArg(6, a6); kernel_.setArg(7, a7); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5, typename A6, typename A7, typename A8> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5, const A6& a6, const A7& a7, const A8& a8) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); kernel_.setArg(6, a6); kernel_.setArg(7, a7); kernel_.setArg(8, a8); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5, typename A6, typename A7, typename A8, typename A9> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5, const A6& a6, const A7& a7, const A8& a8, const A9& a9) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); kernel_.setArg(6, a6); kernel_.setArg(7, a7); kernel_.setArg(8, a8); kernel_.setArg(9, a9); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5, typename A6, typename A7, typename A8, typename A9, typename A10> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5, const A6& a6, const A7& a7, const A8& a8, const A9& a9, const A10& a10) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); kernel_.setArg(6, a6); kernel_.setArg(7, a7); kernel_.setArg(8, a8); kernel_.setArg(9, a9); kernel_.setArg(10, a10); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5, typename A6, typename A7, typename A8, typename A9, typename A10, typename A11> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5, const A6& a6, const A7& a7, const A8& a8, const A9& a9, const A10& a10, const A11& a11) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); kernel_.setArg(6, a6); kernel_.setArg(7, a7); kernel_.setArg(8, a8); kernel_.setArg(9, a9); kernel_.setArg(10, a10); kernel_.setArg(11, a11); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5, typename A6, typename A7, typename A8, typename A9, typename A10, typename A11, typename A12> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5, const A6& a6, const A7& a7, const A8& a8, const A9& a9, const A10& a10, const A11& a11, const A12& a12) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); kernel_.setArg(6, a6); kernel_.setArg(7, a7); kernel_.setArg(8, a8); kernel_.setArg(9, a9); kernel_.setArg(10, a10); kernel_.setArg(11, a11); kernel_.setArg(12, a12); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5, typename A6, typename A7, typename A8, typename A9, typename A10, typename A11, typename A12, typename A13> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5, const A6& a6, const A7& a7, const A8& a8, const A9& a9, const A10& a10, const A11& a11, const A12& a12, const A13& a13) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); kernel_.setArg(6, a6); kernel_.setArg(7, a7); kernel_.setArg(8, a8); kernel_.setArg(9, a9); kernel_.setArg(10, a10); kernel_.setArg(11, a11); kernel_.setArg(12, a12); kernel_.setArg(13, a13); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5, typename A6, typename A7, typename A8, typename A9, typename A10, typename A11, typename A12, typename A13, typename A14> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5, const A6& a6, const A7& a7, const A8& a8, const A9& a9, const A10& a10, const A11& a11, const A12& a12, const A13& a13, const A14& a14) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); kernel_.setArg(6, a6); kernel_.setArg(7, a7); kernel_.setArg(8, a8); kernel_.setArg(9, a9); kernel_.setArg(10, a10); kernel_.setArg(11, a11); kernel_.setArg(12, a12); kernel_.setArg(13, a13); kernel_.setArg(14, a14); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    template <typename A0, typename A1, typename A2, typename A3, typename A4, typename A5, typename A6, typename A7, typename A8, typename A9, typename A10, typename A11, typename A12, typename A13, typename A14, typename A15> Event operator()(const EnqueueArgs& args, const A0& a0, const A1& a1, const A2& a2, const A3& a3, const A4& a4, const A5& a5, const A6& a6, const A7& a7, const A8& a8, const A9& a9, const A10& a10, const A11& a11, const A12& a12, const A13& a13, const A14& a14, const A15& a15) { Event done; kernel_.setArg(0, a0); kernel_.setArg(1, a1); kernel_.setArg(2, a2); kernel_.setArg(3, a3); kernel_.setArg(4, a4); kernel_.setArg(5, a5); kernel_.setArg(6, a6); kernel_.setArg(7, a7); kernel_.setArg(8, a8); kernel_.setArg(9, a9); kernel_.setArg(10, a10); kernel_.setArg(11, a11); kernel_.setArg(12, a12); kernel_.setArg(13, a13); kernel_.setArg(14, a14); kernel_.setArg(15, a15); args.queue_.enqueueNDRangeKernel(kernel_, args.offset_, args.global_, args.local_, &args.events_, &done); return done; }
    Kernel getKernel() { return kernel_; }
};
namespace compatibility {
template <typename... Ts> using make_kernel = KernelFunctor<Ts...>;
}
template <typename... Ts> using make_kernel = KernelFunctor<Ts...>;

inline cl_int enqueueReadBuffer(const Buffer& buffer, cl_bool blocking, size_t offset, size_t size, void* ptr, const std::vector<Event>* events = nullptr, Event* event = nullptr) { return CommandQueue::getDefault().enqueueReadBuffer(buffer, blocking, offset, size, ptr, events, event); }
inline cl_int enqueueWriteBuffer(const Buffer& buffer, cl_bool blocking, size_t offset, size_t size, const void* ptr, const std::vector<Event>* events = nullptr, Event* event = nullptr) { return CommandQueue::getDefault().enqueueWriteBuffer(buffer, blocking, offset, size, ptr, events, event); }
inline cl_int enqueueCopyBuffer(const Buffer& src, const Buffer& dst, size_t src_offset, size_t dst_offset, size_t size, const std::vector<Event>* events = nullptr, Event* event = nullptr) { return CommandQueue::getDefault().enqueueCopyBuffer(src, dst, src_offset, dst_offset, size, events, event); }
inline cl_int finish() { return CommandQueue::getDefault().finish(); }
inline cl_int flush() { return CommandQueue::getDefault().flush(); }
// Copies between iterators and buffers: a blocking map, the host's copy, an unmap, and a wait for it.
template <typename I> cl_int copy(const CommandQueue& queue, I begin, I end, Buffer& buffer) { return queue.enqueueWriteBuffer(buffer, CL_TRUE, 0, sizeof(*begin) * (end - begin), &*begin); }
template <typename I> cl_int copy(const CommandQueue& queue, const Buffer& buffer, I begin, I end) { return queue.enqueueReadBuffer(buffer, CL_TRUE, 0, sizeof(*begin) * (end - begin), &*begin); }
template <typename I> cl_int copy(I begin, I end, Buffer& buffer) { return CommandQueue::getDefault().enqueueWriteBuffer(buffer, CL_TRUE, 0, sizeof(*begin) * (end - begin), &*begin); }
template <typename I> cl_int copy(const Buffer& buffer, I begin, I end) { return CommandQueue::getDefault().enqueueReadBuffer(buffer, CL_TRUE, 0, sizeof(*begin) * (end - begin), &*begin); }

}  // namespace cl
