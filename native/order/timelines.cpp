#include "timelines.hpp"

#include <algorithm>

namespace streamsan::order {
namespace {

/// Beyond this many timelines, those of destroyed streams are reused even if not everyone is known to be past them:
/// memory stays bounded, at the price of order that is assumed (and so of silence, never of a false finding).
constexpr std::size_t many_timelines = 2048;

}  // namespace

std::uint32_t Timelines::make(const Timeline* creator) {
    // A destroyed stream's timeline can be continued by a stream whose creator knows all that happened on it.
    constexpr std::size_t tries = 64;
    const std::size_t end = retired_.size();
    for (std::size_t i = 0; i < std::min(end, tries); ++i) {
        const std::size_t at = end - 1 - i;
        const Retired candidate = retired_[at];
        const bool known = creator != nullptr && creator->clock.knows({candidate.timeline, candidate.tick}, contract);
        if (!known && list_.size() < many_timelines) continue;
        retired_[at] = retired_.back();
        retired_.pop_back();
        Timeline& reused = *list_[candidate.timeline];
        reused.clock.clear();
        reused.released = true;
        ++reused.version;
        reused.clock.set(reused.slot, Lanes{reused.tick, reused.tick, reused.tick, reused.tick});
        return candidate.timeline;
    }
    if (list_.size() >= most) {
        ++shared_;
        return last;
    }
    const auto slot = static_cast<std::uint32_t>(list_.size());
    list_.push_back(std::make_unique<Timeline>());
    list_.back()->slot = slot;
    return slot;
}

}  // namespace streamsan::order
