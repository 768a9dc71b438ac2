// Host memory that copies use, and of which the trace knows nothing else: nobody has told who it belongs to.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "operation.hpp"

namespace streamsan::order {

/// What a copy reads or writes there until it is complete.
struct HostSide {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Placed copy;  ///< its operation's mode is that of this use
};

/// Those of a process that may still run.
class HostSides {
public:
    [[nodiscard]] bool empty() const { return sides_.empty(); }
    [[nodiscard]] const std::vector<HostSide>& list() const { return sides_; }
    /// Adds one. What whoever enqueues it has waited for is over: other threads are told of that by whom they hear of
    /// the memory.
    void add(const HostSide& side, const Clock& host) {
        constexpr std::size_t most = 64;
        std::erase_if(sides_, [&host](const HostSide& each) { return host.knows(each.copy.epoch, contract); });
        if (sides_.size() >= most) sides_.erase(sides_.begin());
        sides_.push_back(side);
    }

private:
    std::vector<HostSide> sides_;
};

}  // namespace streamsan::order
