// Jacobi relaxation with the C++ wrappers: halves of the work on two queues, ping-pong buffers.
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <iostream>
#include <utility>
#include <vector>

namespace {
const std::string source = R"(
__kernel void relax(__global const int *from, __global int *to, int n) {
    int i = get_global_id(0);
    int l = i > 0 ? from[i - 1] : 0, r = i < n - 1 ? from[i + 1] : 0;
    to[i] = (l + 2 * from[i] + r) / 4;
}
__kernel void energy(__global const int *field, __global int *sum, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += field[i];
    sum[0] = s;
})";

class Solver {
public:
    Solver(const cl::Context &context, const cl::Device &device, int n)
        : n_(n), work_(context, device), probe_(context, device), program_(context, source)
    {
        program_.build({device});
        relax_ = cl::Kernel(program_, "relax");
        energy_ = cl::Kernel(program_, "energy");
        front_ = cl::Buffer(context, CL_MEM_READ_WRITE, sizeof(cl_int) * n);
        back_ = cl::Buffer(context, CL_MEM_READ_WRITE, sizeof(cl_int) * n);
        sum_ = cl::Buffer(context, CL_MEM_READ_WRITE, sizeof(cl_int));
    }
    void load(const std::vector<cl_int> &values)
    {
        work_.enqueueWriteBuffer(front_, CL_TRUE, 0, sizeof(cl_int) * values.size(), values.data());
    }
    void step(const std::vector<cl::Event> &after)
    {
        relax_.setArg(0, front_);
        relax_.setArg(1, back_);
        relax_.setArg(2, n_);
        work_.enqueueNDRangeKernel(relax_, cl::NullRange, cl::NDRange(n_), cl::NullRange, &after, &stepped_);
        work_.flush();
        std::swap(front_, back_);
    }
    cl::Event probe()
    {
        cl::Event probed;
        energy_.setArg(0, front_);
        energy_.setArg(1, sum_);
        energy_.setArg(2, n_);
        std::vector<cl::Event> after{stepped_};
        probe_.enqueueNDRangeKernel(energy_, cl::NullRange, cl::NDRange(1), cl::NullRange, &after, &probed);
        probe_.flush();
        return probed;
    }
    int total()
    {
        cl_int value = 0;
        probe_.enqueueReadBuffer(sum_, CL_TRUE, 0, sizeof value, &value);
        return value;
    }

private:
    cl_int n_;
    cl::CommandQueue work_, probe_;
    cl::Program program_;
    cl::Kernel relax_, energy_;
    cl::Buffer front_, back_, sum_;
    cl::Event stepped_;
};
} // namespace

int main()
{
    const int n = 2048;
    cl::Device device = cl::Device::getDefault();
    cl::Context context(device);
    Solver solver(context, device, n);
    std::vector<cl_int> x(n), y(n);
    for (int i = 0; i < n; ++i) x[i] = (i * 37) % 1000;
    solver.load(x);
    bool good = true;
    std::vector<cl::Event> probes;
    for (int turn = 0; turn < 3; ++turn) {
        solver.step(probes);
        solver.step({});
        probes = {solver.probe()};
        for (int s = 0; s < 2; ++s) {
            for (int i = 0; i < n; ++i)
                y[i] = ((i ? x[i - 1] : 0) + 2 * x[i] + (i < n - 1 ? x[i + 1] : 0)) / 4;
            std::swap(x, y);
        }
    }
    long sum = 0;
    for (int v : x) sum += v;
    good = solver.total() == sum;
    std::cout << (good ? "ok" : "bad") << std::endl;
    return good ? 0 : 1;
}
