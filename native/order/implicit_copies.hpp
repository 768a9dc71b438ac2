// Copies that wait though nothing promises it: what a finding names that rests on such a wait.
#pragma once
#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "operation.hpp"

namespace streamsan::order {

/// Of each stream the latest such copy: what was before an earlier one is before it, too.
class ImplicitCopies {
public:
    /// Keeps a copy on a stream; `known` is what the stream knows then.
    void keep(std::uint32_t stream, const Placed& copy, const Clock& known) {
        if (stream >= of_stream_.size()) of_stream_.resize(stream + 1U);
        of_stream_[stream].copy = copy;
        of_stream_[stream].known.assign(known);
    }

    /// The copy whose wait puts a point before whoever has the clock, null where it is not one: the point is before the
    /// copy, and only by measurement the copy is complete.
    [[nodiscard]] const Operation* between(Epoch earlier, const Clock& later) const {
        for (const Kept& each : of_stream_) {
            const bool behind = each.copy.epoch.tick != 0 && each.known.knows(earlier, visible);
            if (behind && later.knows(each.copy.epoch, all)) return &each.copy.operation;
        }
        return nullptr;
    }

private:
    struct Kept {
        Placed copy;
        Clock known;
    };
    std::vector<Kept> of_stream_;
};

}  // namespace streamsan::order
