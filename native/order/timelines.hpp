// The timelines of host threads and streams.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "clock.hpp"

namespace streamsan::order {

/// Timelines by their number, which is their slot in every clock. They stay where they are.
class Timelines {
public:
    /// Hard bound: what is made beyond it shares one timeline, the last.
    static constexpr std::size_t most = 8192;
    static constexpr std::uint32_t last = most - 1;
    /// Beyond this many, those of destroyed streams are reused even if not everyone is known to be past them: memory
    /// stays bounded, at the price of order that is assumed (and so of silence, never of a false finding).
    static constexpr std::size_t many = 2048;

    /// A new one, or a retired one of which `creator` (null: nobody) knows all that happened there.
    std::uint32_t make(const Timeline* creator) {
        // A destroyed stream's timeline can be continued by a stream whose creator knows all that happened on it.
        constexpr std::size_t tries = 64;
        const std::size_t end = retired_.size();
        for (std::size_t i = 0; i < std::min(end, tries); ++i) {
            const std::size_t at = end - 1 - i;
            const Retired candidate = retired_[at];
            const bool known =
                creator != nullptr && creator->clock.knows({candidate.timeline, candidate.tick}, contract);
            if (!known && list_.size() < many) continue;
            retired_[at] = retired_.back();
            retired_.pop_back();
            Timeline& reused = *list_[candidate.timeline];
            reused.clock.clear();
            reused.released = true;
            reused.beside = UINT32_MAX;
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
    /// Nobody goes on there. The last one is shared, and stays.
    void retire(std::uint32_t index) {
        if (index != last) retired_.push_back({index, list_[index]->tick});
    }
    [[nodiscard]] Timeline& operator[](std::uint32_t index) { return *list_[index]; }
    [[nodiscard]] const Timeline& operator[](std::uint32_t index) const { return *list_[index]; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(list_.size()); }
    /// How often the bound was met.
    [[nodiscard]] std::uint64_t shared() const { return shared_; }

private:
    struct Retired {
        std::uint32_t timeline;
        Tick tick;
    };
    std::vector<std::unique_ptr<Timeline>> list_;
    std::vector<Retired> retired_;
    std::uint64_t shared_ = 0;
};

}  // namespace streamsan::order
