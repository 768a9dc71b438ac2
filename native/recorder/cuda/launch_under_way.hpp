// The launch that a thread has under way, for what is told of it by other callbacks than those of its call.
#pragma once
#include <span>

#include "recorder/cuda/call.hpp"
#include "recorder/cuda/launch_shapes.hpp"

namespace streamsan::recorder::cuda {

struct LaunchUnderWay {
    const LaunchShape* shape = nullptr;     ///< null: not known
    std::span<const Reference> references;  ///< of its arguments, in their order
    bool whole = false;                     ///< these are all
};

/// Valid until the thread's next launch.
LaunchUnderWay launch_under_way(const ThreadState& state);

}  // namespace streamsan::recorder::cuda
