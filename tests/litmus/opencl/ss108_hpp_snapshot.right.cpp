// Cellular automaton with the Khronos C++ bindings; snapshots go to a history on the host.
#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

namespace {

constexpr std::size_t kCells = 1 << 14;
constexpr int kGenerations = 6;

const std::string kRule = R"CLC(
kernel void rule(global const uchar *a, global uchar *b, uchar code) {
    size_t i = get_global_id(0), n = get_global_size(0);
    uint idx = a[(i + n - 1) % n] << 2 | a[i] << 1 | a[(i + 1) % n];
    b[i] = (code >> idx) & 1;
}
)CLC";

std::vector<std::uint8_t> initial()
{
    std::vector<std::uint8_t> v(kCells);
    for (std::size_t i = 0; i < kCells; ++i) v[i] = (i * i / 7) & 1;
    return v;
}

class Automaton {
public:
    Automaton() : ctx_(CL_DEVICE_TYPE_ALL), q_(ctx_), prog_(ctx_, kRule, true), rule_(prog_, "rule"),
        a_(ctx_, CL_MEM_READ_WRITE, kCells), b_(ctx_, CL_MEM_READ_WRITE, kCells)
    {
        auto init = initial();
        q_.enqueueWriteBuffer(a_, CL_TRUE, 0, kCells, init.data());
    }

    void step(cl_uchar code)
    {
        rule_.setArg(0, a_);
        rule_.setArg(1, b_);
        rule_.setArg(2, code);
        q_.enqueueNDRangeKernel(rule_, cl::NullRange, cl::NDRange(kCells));
        std::swap(a_, b_);
    }

    std::size_t population()
    {
        std::vector<std::uint8_t> cells(kCells);
        cl::Event done;
        q_.enqueueReadBuffer(a_, CL_FALSE, 0, kCells, cells.data(), nullptr, &done);
        q_.flush();
        done.wait();
        std::size_t alive = std::accumulate(cells.begin(), cells.end(), std::size_t{0});
        return alive;
    }

private:
    cl::Context ctx_;
    cl::CommandQueue q_;
    cl::Program prog_;
    cl::Kernel rule_;
    cl::Buffer a_, b_;
};

std::vector<std::size_t> reference(cl_uchar code)
{
    auto a = initial(), b = a;
    std::vector<std::size_t> out;
    for (int g = 0; g < kGenerations; ++g) {
        for (std::size_t i = 0; i < kCells; ++i) {
            unsigned idx = a[(i + kCells - 1) % kCells] << 2 | a[i] << 1 | a[(i + 1) % kCells];
            b[i] = (code >> idx) & 1;
        }
        std::swap(a, b);
        out.push_back(std::accumulate(a.begin(), a.end(), std::size_t{0}));
    }
    return out;
}

} // namespace

int main()
{
    try {
        Automaton ca;
        auto want = reference(110);
        for (int g = 0; g < kGenerations; ++g) {
            ca.step(110);
            if (auto n = ca.population(); n != want[g]) {
                std::cout << "generation " << g << ": " << n << " != " << want[g] << '\n';
                return 1;
            }
        }
    } catch (const cl::Error &e) {
        std::cerr << e.what() << ' ' << e.err() << '\n';
        return 2;
    }
    std::cout << "ok\n";
}
