// What kernels are launched with, but for addresses: each different launch once, in a table of the trace. Machine code
// is read with these in mind by who checks the trace.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "recorder/cuda/kernels.hpp"
#include "recorder/cuda/launch_arguments.hpp"
#include "recorder/cuda/launch_dimensions.hpp"

namespace streamsan::recorder::cuda {

/// What one launch is given: `arguments` is `kernelParams`, `extra` the other way to pass them; either may be null.
struct LaunchGiven {
    void* const* arguments = nullptr;
    void* const* extra = nullptr;
    LaunchDimensions dimensions;
};

struct LaunchShape;
class RepeatedLaunches;  // repeated_launches.hpp

/// What a thread's next launch of a kernel will be like. One cache line.
struct alignas(64) ExpectedShapes {
    const LaunchShape* latest = nullptr;         ///< of the launch before
    const LaunchShape* next = nullptr;           ///< what came after that one, the last time
    std::array<const LaunchShape*, 6> others{};  ///< the latest that were others than `latest`, newest first
};

/// The shapes that a thread has met lately, so that it finds them without a lock.
struct LaunchShapesMet {
    static constexpr std::size_t size = 2048;
    static constexpr std::size_t kernels = 1024;
    std::array<ExpectedShapes, kernels> by_kernel{};  ///< two kernels may share a place
    std::array<const LaunchShape*, size> by_hash{};
    const LaunchShape* last = nullptr;  ///< of the latest launch; null: not known
    /// Of kernels whose launches have many addresses.
    std::unordered_map<const Kernel*, std::shared_ptr<RepeatedLaunches>> repeated;

    [[nodiscard]] ExpectedShapes& of(const Kernel& kernel) { return by_kernel[kernel.number % kernels]; }
};

/// Collects the arguments of a launch, and returns the id of its shape in the writer's table, 0 when there is no room
/// for it. No lock and no memory where the thread has met the shape lately; where it is the one that was to be
/// expected, no copy and no hash of the arguments: these are compared with it where they are.
std::uint32_t collect_launch(LaunchShapesMet& met, const Kernel& kernel, const LaunchGiven& given,
                             LaunchArguments& arguments);
/// The shape's id for what is not on the path of a launch, or has its arguments collected. Takes a lock.
std::uint32_t launch_shape(const Kernel& kernel, const LaunchDimensions& dimensions, const LaunchArguments& arguments);

/// Whether all launches of this shape have the same grid, block and values of arguments: some shapes keep none.
bool keeps_values(const LaunchShape& shape);

/// In the child of a fork: another thread may have held the lock, and the child's file has no shapes.
void launch_shapes_after_fork();

}  // namespace streamsan::recorder::cuda
