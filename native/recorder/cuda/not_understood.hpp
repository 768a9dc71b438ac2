// What the recorder could not see, said in the trace: SS603.
#pragma once
#include <atomic>
#include <string_view>

#include "recorder/cuda/call.hpp"

namespace streamsan::recorder::cuda {

/// One sort of gap; static, so that it is said once in a process.
struct Gap {
    std::string_view reason;
    std::atomic<bool> said{false};
};

/// Writes a NOT_UNDERSTOOD at the place of this call, whose label says why. Once for each gap.
void say_not_understood(ThreadState& state, const Call& call, Gap& gap);

}  // namespace streamsan::recorder::cuda
