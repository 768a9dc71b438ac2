// Vector clocks with four relations side by side.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace streamsan::order {

using Tick = std::int32_t;
constexpr Tick last_tick = std::numeric_limits<Tick>::max();

/// One timeline's component in each relation; four of them fill a vector register.
typedef std::int32_t Lanes __attribute__((vector_size(16)));

/// Each relation has the edges of those before it and more: contract, visible, credited, all.
enum Lane : int { contract = 0, credited = 1, all = 2, visible = 3 };

/// Which relations an edge of a class belongs to: a promised edge is in every one, an observed one in `all` only. What
/// code that nobody can see may have ordered is credited, but not visible.
constexpr Lanes contract_edge = {-1, -1, -1, -1};
constexpr Lanes run_edge = {0, -1, -1, -1};
constexpr Lanes opaque_edge = {0, -1, -1, 0};
constexpr Lanes observed_edge = {0, 0, -1, 0};

/// A point on a timeline. Tick 0 is before everything.
struct Epoch {
    std::uint32_t slot = 0;
    Tick tick = 0;
};

/// What a join changed.
struct Change {
    bool any = false;
    bool contract = false;

    Change& operator+=(Change other) {
        any |= other.any;
        contract |= other.contract;
        return *this;
    }
};

/// For each timeline slot, how far its history is known. Slots beyond the end are not known at all.
class Clock {
public:
    [[nodiscard]] Lanes at(std::uint32_t slot) const { return slot < entries_.size() ? entries_[slot].lanes : Lanes{}; }

    /// Timelines of which anything may be known: those numbered less.
    [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(entries_.size()); }

    [[nodiscard]] bool knows(Epoch epoch, Lane lane) const { return at(epoch.slot)[lane] >= epoch.tick; }

    void set(std::uint32_t slot, Lanes lanes) {
        if (slot >= entries_.size()) entries_.resize(slot + 1U);
        entries_[slot].lanes = lanes;
    }

    /// Learns all that `other` knows, in the relations of `mask`.
    Change join(const Clock& other, Lanes mask) {
        const std::size_t count = other.entries_.size();
        if (count > entries_.size()) entries_.resize(count);
        Entry* mine = entries_.data();
        const Entry* theirs = other.entries_.data();
        Lanes changed = {};
        for (std::size_t i = 0; i < count; ++i) {
            const Lanes theirs_here = theirs[i].lanes & mask;
            const Lanes newer = theirs_here > mine[i].lanes;
            mine[i].lanes = (theirs_here & newer) | (mine[i].lanes & ~newer);
            changed |= newer;
        }
        return {(changed[0] | changed[1] | changed[2] | changed[3]) != 0, changed[0] != 0};
    }

    /// Learns one point, and nothing that is before it.
    void learn(Epoch point, Lanes mask) {
        const Lanes told = Lanes{point.tick, point.tick, point.tick, point.tick} & mask;
        const Lanes known = at(point.slot);
        const Lanes newer = told > known;
        set(point.slot, (told & newer) | (known & ~newer));
    }

    /// Keeps only what `other` knows as well.
    void meet(const Clock& other) {
        if (entries_.size() > other.entries_.size()) entries_.resize(other.entries_.size());
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            const Lanes theirs = other.entries_[i].lanes;
            const Lanes older = theirs < entries_[i].lanes;
            entries_[i].lanes = (theirs & older) | (entries_[i].lanes & ~older);
        }
    }

    /// Knows by contract no more than `other` does, but of the timeline `own`.
    void keep_promised(const Clock& other, std::uint32_t own) {
        for (std::uint32_t i = 0; i < slots(); ++i) {
            if (i != own) entries_[i].lanes[contract] = std::min(entries_[i].lanes[contract], other.at(i)[contract]);
        }
    }

    /// Becomes equal to `other`; keeps its storage.
    void assign(const Clock& other) { entries_ = other.entries_; }
    void clear() { entries_.clear(); }
    [[nodiscard]] bool empty() const { return entries_.empty(); }

private:
    struct Entry {
        Lanes lanes = {};
    };
    std::vector<Entry> entries_;
};

/// A timeline: a host thread or a stream.
/// `tick` counts operations, not every one: operations between two moments at which somebody looked (`released`) share
/// one, since nobody can know one of them without the others. So a component of a clock always stands for real
/// operations, and a join that changes nothing really brings nothing.
struct Timeline {
    Clock clock;
    std::uint32_t slot = 0;
    Tick tick = 0;
    std::uint32_t version = 0;          ///< changes when a join changed the clock
    std::uint32_t beside = UINT32_MAX;  ///< of kernels that begin at once: the slot of their stream
    bool released = true;               ///< somebody has looked at the clock since the last operation

    /// Starts an operation and returns where it is.
    [[gnu::always_inline]] inline Epoch advance() {
        if (released) next_tick();
        return {slot, tick};
    }

    [[gnu::noinline]] void next_tick() {
        if (tick < last_tick) ++tick;
        clock.set(slot, Lanes{tick, tick, tick, tick});
        released = false;
    }

    /// Learns one point of another timeline, and nothing that is before it.
    void learn(Epoch point, Lanes mask = contract_edge) {
        if (clock.knows(point, contract)) return;
        clock.learn(point, mask);
        ++version;
    }

    Change learn(const Clock& other, Lanes mask) {
        const Change change = clock.join(other, mask);
        if (change.any) ++version;
        return change;
    }

    /// Learns what another timeline knows now.
    Change learn(Timeline& other, Lanes mask) {
        other.released = true;
        return learn(other.clock, mask);
    }
};

}  // namespace streamsan::order
