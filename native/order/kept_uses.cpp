// Which uses of an allocation are kept: those that a later operation may still have to be ordered after.
#include <algorithm>

#include "allocations.hpp"
#include "uses.hpp"

namespace streamsan::order {

void Allocations::keep_latest_uses(Allocation& allocation, const Access& access, Epoch epoch, const Clock& clock) {
    const Placed use{access.operation, epoch};
    // Forgets what this use is after and covers: whoever is ordered after it is ordered after those as well.
    const auto dominated = [&](const Placed& other) {
        return covers(use.operation, other.operation) && clock.knows(other.epoch, contract);
    };
    const bool bounded = !access.exact() && access.bounds.known();
    const auto forget = [&](const RangedUse& old) {
        // Of other parts of the memory, or surer of them: that still conflicts with what is ordered after neither.
        const bool surer = may_conflict_surely(old.use.operation) && !stands_for(access, old.access());
        if (surer || leaves_out(access, old.access())) remember(allocation, access, epoch, old);
    };
    std::uint8_t kept = 0;
    std::uint8_t place = allocation.inline_uses;
    for (std::uint8_t i = allocation.inline_uses; i-- > 0;) {
        const Placed& old = allocation.uses[i];
        if (!dominated(old)) {
            ++kept;
            continue;
        }
        place = i;
        if (bounded || may_conflict_surely(old.operation)) {
            forget({old, part(allocation, i)});
        }
    }
    if (allocation.more_uses != none) {
        std::vector<RangedUse>& more = more_uses(allocation);
        std::erase_if(more, [&](const RangedUse& each) {
            if (!dominated(each.use)) return false;
            forget(each);
            return true;
        });
        if (more.empty()) drop_more(allocation);
    }
    if (place == allocation.uses.size()) {
        more_uses(allocation).push_back({use, access.part()});
        return;
    }
    // Of two that are gone the second is one that the new one is not put in the place of.
    allocation.inline_uses = (kept + 1U) & 0xFU;
    set_use(allocation, place, use, access);
}

void Allocations::remember(Allocation& allocation, const Access& access, Epoch epoch, const RangedUse& old) {
    constexpr std::size_t most_earlier = 32;
    const std::uint32_t index = index_of(allocation);
    if (parts_.size() <= index) parts_.resize(records_.size());
    std::vector<RangedUse>& earlier = parts_[index].earlier;
    // What is covered now, on the same timeline, says nothing that the new one does not.
    std::erase_if(earlier, [&](const RangedUse& each) {
        if (each.use.epoch.slot != epoch.slot) return false;
        const bool doubtful = !may_conflict_surely(each.use.operation) &&
                              covers(access.operation, each.use.operation) &&
                              access.bounds.holds(each.access().limits());
        return doubtful || stands_for(access, each.access());
    });
    if (earlier.size() >= most_earlier) earlier.erase(earlier.begin());
    earlier.push_back(old);
    allocation.parts = static_cast<std::uint8_t>(allocation.parts | Allocation::earlier_parts) & 0xFU;
}

void Allocations::keep_each_use(Allocation& allocation, const Access& access, Epoch epoch) {
    // One that was before it on its timeline, of the same part: what is ordered after the new one is after that, too.
    // One of another part may be required where this one is not.
    constexpr std::size_t most_kept = 32;
    const Placed use{access.operation, epoch};
    const bool crowded = allocation.more_uses != none && more_uses(allocation).size() >= most_kept;
    const auto same = [&](const Placed& other, const Part& part) {
        return other.epoch.slot == use.epoch.slot && other.operation.reads_only() == use.operation.reads_only() &&
               (crowded || stands_for(access, {other.operation, part}));
    };
    for (std::uint8_t i = 0; i < allocation.uses.size(); ++i) {
        if (i < allocation.inline_uses && !same(allocation.uses[i], part(allocation, i))) continue;
        if (i == allocation.inline_uses) allocation.inline_uses = (i + 1U) & 0xFU;
        set_use(allocation, i, use, access);
        return;
    }
    std::vector<RangedUse>& more = more_uses(allocation);
    const auto found =
        std::find_if(more.begin(), more.end(), [&](const RangedUse& each) { return same(each.use, each.part); });
    if (found == more.end()) more.push_back({use, access.part()});
    else *found = {use, access.part()};
}

void Allocations::keep_ranged_use(Allocation& allocation, const Access& access, Epoch epoch, const Clock& clock) {
    // Parts of host buffers are filled and read while other parts are in flight: each part counts for itself.
    const Operation& use = access.operation;
    const auto reach = [&](std::uint64_t end) { return end == 0 ? allocation.end() : end; };
    std::vector<RangedUse>& uses = more_uses(allocation);
    if (!keeps_all_) {
        std::erase_if(uses, [&](const RangedUse& each) {
            const Operation& old = each.use.operation;
            // Of a host function nobody knows what it touches, and whether it writes: it stands for nothing that is
            // known better.
            if (use.mode() == AccessMode::OPAQUE && old.mode() != AccessMode::OPAQUE) return false;
            const bool covered = each.part.begin >= access.begin && reach(each.part.end) <= reach(access.end) &&
                                 covers(use, old) && (!access.atomic() || each.access().atomic()) &&
                                 (forbids_host_access(use, access.end) || !forbids_host_access(old, each.part.end)) &&
                                 clock.knows(each.use.epoch, contract);
            if (!covered) return false;
            const bool stands = stands_for(access, each.access());
            if ((access.strided() || access.rows != nullptr) && !stands) return false;
            if (leaves_out(access, each.access())) return false;
            if (!stands && may_conflict_surely(old)) remember(allocation, access, epoch, each);
            return true;
        });
    }
    constexpr std::size_t most_ranges = 64;
    if (uses.size() >= most_ranges) uses.erase(uses.begin());
    uses.push_back({{use, epoch}, access.part()});
}

}  // namespace streamsan::order
