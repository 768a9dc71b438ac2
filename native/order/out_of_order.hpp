// Out-of-order queues: each command is a branch of its own, ordered by its wait list and by barriers only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "clock.hpp"

namespace streamsan::order {

/// One such queue. A branch is a stream that no handle names: a command that comes after the last one of a branch by
/// contract goes on there, so that there are as many as commands may run at the same time.
struct OutOfOrderQueue {
    /// Hard bound. With more commands that nothing orders a new one goes on behind the oldest: memory and time stay
    /// linear, at the price of an order that is assumed (and so of silence, never of a false finding).
    static constexpr std::size_t most_branches = 256;

    std::vector<std::uint32_t> branches;  ///< stream indices
    std::size_t next = 0;                 ///< of these, the one that is tried first
    std::uint32_t latest = UINT32_MAX;    ///< the branch of the latest command
    std::vector<std::uint32_t> news;      ///< branches with commands that the queue's own timeline does not know yet
    Clock barrier;                        ///< what the latest barrier is after, and that barrier
    std::uint32_t barriers = 0;           ///< how many there were
};

}  // namespace streamsan::order
