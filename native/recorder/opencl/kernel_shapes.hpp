// What kernels are launched with, but for addresses: in a table of the trace, each different launch of a kernel once.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "recorder/opencl/program_images.hpp"
#include "recorder/trace_writer/file_format.hpp"

namespace streamsan::recorder::opencl {

/// In x, y and z.
using GlobalOffset = std::array<std::uint64_t, 3>;

/// The shapes of one kernel's launches. Who uses it holds the kernel's lock.
class KernelShapes {
public:
    /// The id of a launch's shape on a device. `places`: for each reference the index of its argument. `name`: string
    /// id.
    std::uint32_t of(std::uint32_t name, const ProgramBuilds& builds, Word device, std::span<const PackedPlace> places,
                     const GlobalOffset& offset);

private:
    struct Shape {
        std::vector<PackedPlace> places;
        GlobalOffset offset{};
        std::uint32_t code = 0;  ///< string id
        std::uint32_t id = 0;
    };

    std::uint32_t code_of(const ProgramBuilds& builds, Word device);

    std::vector<Shape> shapes_;
    std::vector<std::pair<Word, std::uint32_t>> codes_;  ///< string id, by device
};

}  // namespace streamsan::recorder::opencl
