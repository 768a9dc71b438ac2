// What kernels are launched with, but for addresses: each different launch once, in a table of the trace. Machine code
// is read with these in mind by who checks the trace.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "recorder/cuda/kernels.hpp"
#include "recorder/cuda/launch_arguments.hpp"

namespace streamsan::recorder::cuda {

/// Zeros are not known.
struct LaunchDimensions {
    std::array<std::uint32_t, 3> grid{};   ///< blocks
    std::array<std::uint32_t, 3> block{};  ///< threads
    std::uint32_t shared = 0;              ///< bytes of dynamic shared memory

    LaunchDimensions() = default;
    LaunchDimensions(const std::uint32_t (&blocks)[3], const std::uint32_t (&threads)[3], std::uint32_t shared_bytes)
        : grid{blocks[0], blocks[1], blocks[2]}, block{threads[0], threads[1], threads[2]}, shared(shared_bytes) {}
};

struct LaunchShape;

/// The shapes that a thread has met lately, so that it finds them without a lock.
struct LaunchShapesMet {
    static constexpr std::size_t size = 2048;
    std::array<const LaunchShape*, size> by_hash{};
};

/// Id of a launch's shape in the writer's table, 0 when there is no room for it. No lock and no memory where the thread
/// has met it lately.
std::uint32_t launch_shape(LaunchShapesMet& met, const Kernel& kernel, const LaunchDimensions& dimensions,
                           const LaunchArguments& arguments);
/// The same for what is not on the path of a launch. Takes a lock.
std::uint32_t launch_shape(const Kernel& kernel, const LaunchDimensions& dimensions, const LaunchArguments& arguments);

/// In the child of a fork: another thread may have held the lock, and the child's file has no shapes.
void launch_shapes_after_fork();

}  // namespace streamsan::recorder::cuda
