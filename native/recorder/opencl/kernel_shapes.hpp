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

/// Work-items in all and in a group; zeros: not known.
struct LaunchSizes {
    std::array<std::uint32_t, 3> items{};
    std::array<std::uint32_t, 3> group{};
    bool operator==(const LaunchSizes&) const = default;
};

/// What an argument is that is no whole memory object.
struct ArgumentNumber {
    std::uint32_t index;
    std::uint32_t size;   ///< bytes of its value; 0: it is a part of a memory object
    std::uint64_t value;  ///< these bytes, in the order of the machine
    bool operator==(const ArgumentNumber&) const = default;
};
static_assert(sizeof(ArgumentNumber) == 16);
constexpr std::size_t most_numbers = 32;

/// What one launch of a kernel is given beside addresses.
struct LaunchNumbers {
    GlobalOffset offset{};
    LaunchSizes sizes;
    std::span<const PackedPlace> places;  ///< for each reference the index of its argument
    std::span<const ArgumentNumber> numbers;
};

/// The shapes of one kernel's launches. Who uses it holds the kernel's lock.
class KernelShapes {
public:
    /// The id of a launch's shape on a device. `name`: string id.
    std::uint32_t of(std::uint32_t name, const ProgramBuilds& builds, Word device, const LaunchNumbers& launch);

    /// Whether it has so many that those of an argument that changes from launch to launch are to be left out.
    bool crowded() const { return shapes_.size() >= most_of_changing; }

private:
    static constexpr std::size_t most_of_changing = 64;

    struct Shape {
        std::vector<PackedPlace> places;
        std::vector<ArgumentNumber> numbers;
        GlobalOffset offset{};
        LaunchSizes sizes;
        std::uint32_t code = 0;  ///< string id
        std::uint32_t id = 0;
    };

    std::uint32_t code_of(const ProgramBuilds& builds, Word device);

    std::vector<Shape> shapes_;
    std::vector<std::pair<Word, std::uint32_t>> codes_;  ///< string id, by device
};

}  // namespace streamsan::recorder::opencl
