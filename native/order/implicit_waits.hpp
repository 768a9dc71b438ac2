// Copies that wait, and answers of queries, though nothing promises an order by them: what a finding names that rests
// on one.
#pragma once
#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "operation.hpp"

namespace streamsan::order {

/// Of each stream the latest such copy, or query of an event that was recorded there: what was before an earlier one is
/// before it, too.
class ImplicitWaits {
public:
    /// Keeps an operation of the host that is after `wait.epoch` on a stream; `known` is what the stream knew there.
    void keep(std::uint32_t stream, const Placed& wait, const Clock& known) {
        if (stream >= of_stream_.size()) of_stream_.resize(stream + 1U);
        of_stream_[stream].wait = wait;
        of_stream_[stream].known.assign(known);
    }

    /// The operation whose wait puts a point before whoever has the clock, null where it is not one: the point is
    /// before what was waited for, and only by measurement that is complete.
    [[nodiscard]] const Operation* between(Epoch earlier, const Clock& later) const {
        for (const Kept& each : of_stream_) {
            const bool behind = each.wait.epoch.tick != 0 && each.known.knows(earlier, visible);
            if (behind && later.knows(each.wait.epoch, all)) return &each.wait.operation;
        }
        return nullptr;
    }

private:
    struct Kept {
        Placed wait;
        Clock known;
    };
    std::vector<Kept> of_stream_;
};

}  // namespace streamsan::order
