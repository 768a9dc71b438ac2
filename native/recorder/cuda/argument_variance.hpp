// Which bytes of a kernel's arguments differ from launch to launch: counters, seeds, and what a structure's padding has
// from the stack. They are not told, so that what else the kernel is launched with is told once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recorder/cuda/launch_arguments.hpp"
#include "recorder/cuda/launch_dimensions.hpp"

namespace streamsan::recorder::cuda {

/// Bytes [begin, end) of the argument buffer, all of one parameter.
struct ArgumentRun {
    std::uint16_t begin;
    std::uint16_t end;
    std::uint16_t parameter;  ///< position in `Kernel::parameters()`
};

/// What is known of one kernel so far. Never changed; never freed.
struct ArgumentVariance {
    static constexpr std::uint8_t all_vary = 0xff;
    std::uint8_t round = 1;         ///< counts how often more was found; `all_vary`: no argument is told any more
    std::uint8_t searches = 0;      ///< how often all that differs was searched for
    std::vector<ArgumentRun> runs;  ///< in the order of `Kernel::parameters()`
};

/// One of a kernel's launches.
struct SeenLaunch {
    LaunchDimensions dimensions;
    std::span<const PackedPlace> places;
    std::span<const unsigned char> arguments;
};

/// Finds what makes launches of a kernel differ: the fewest bytes without which an eighth of them is left, beside those
/// that are known already. All bytes, where that does not help or was of no use too often.
const ArgumentVariance& next_variance(const Kernel& kernel, std::span<const SeenLaunch> launches);

/// Finds words that have another address of host memory again and again: padding that keeps what the stack or the heap
/// had there. A few launches are enough for that, and no value that tells anything is lost. Of kernels with large
/// arguments also words that never come again. `launches` in their order. Null where there is none.
const ArgumentVariance* next_leftovers(const Kernel& kernel, std::span<const SeenLaunch> launches);

}  // namespace streamsan::recorder::cuda
