// Uses of the same memory that nothing orders (SS109).
#include "conflicts.hpp"

#include "engine.hpp"

namespace streamsan::order {
namespace {

constexpr auto touches_bit = static_cast<std::uint8_t>(SlotFlag::TOUCHES);
constexpr auto atomic_bit = static_cast<std::uint8_t>(SlotFlag::ATOMIC);

bool writes(const Operation& operation) {
    return operation.mode() == AccessMode::WRITE || operation.mode() == AccessMode::READ_WRITE;
}
bool known(const Operation& operation) { return operation.mode() != AccessMode::OPAQUE; }
bool contains(const Access& range, std::uint64_t address) { return range.begin <= address && address < range.end; }

/// Whether the bytes may be, or surely are, the same.
Conflict overlap(const Access& one, const Access& other) {
    if (one.exact() && other.exact()) return one.begin < other.end && other.begin < one.end ? Conflict::sure : Conflict::absent;
    if (one.exact() || other.exact()) {
        const Access& range = one.exact() ? one : other;
        const Access& open = one.exact() ? other : one;
        if (!contains(range, open.begin)) return Conflict::absent;
        return (open.operation.flags & touches_bit) != 0 ? Conflict::sure : Conflict::possible;
    }
    if (one.begin != other.begin) return Conflict::absent;
    return (one.operation.flags & other.operation.flags & touches_bit) != 0 ? Conflict::sure : Conflict::possible;
}

/// Host memory has rules of its own (SS108); an array's address says nothing of its parts.
bool device_side(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::PLAIN: case MemoryKind::STREAM_ORDERED: case MemoryKind::MANAGED: case MemoryKind::MAPPED:
        case MemoryKind::IPC: case MemoryKind::GRAPH: case MemoryKind::POOL_IMPORT: case MemoryKind::DEVICE_SYMBOL:
        case MemoryKind::UNKNOWN: return true;
        default: return false;
    }
}

}  // namespace

Conflict conflict_of(const Access& one, const Access& other) {
    if (!writes(one.operation) && !writes(other.operation)) return Conflict::absent;
    if ((one.operation.flags & other.operation.flags & atomic_bit) != 0) return Conflict::absent;
    const Conflict found = overlap(one, other);
    const bool certain = known(one.operation) && known(other.operation) && !one.operation.assumed() && !other.operation.assumed();
    return found == Conflict::sure && !certain ? Conflict::possible : found;
}

bool stands_for(const Access& later, const Access& earlier) {
    constexpr auto same = static_cast<std::uint8_t>(mode_bits | atomic_bit);
    if (((later.operation.flags ^ earlier.operation.flags) & same) != 0 || later.operation.assumed()) return false;
    if (later.exact()) return later.begin <= earlier.begin && earlier.begin < later.end && earlier.end <= later.end;
    return !earlier.exact() && later.begin == earlier.begin && (later.operation.flags & touches_bit) != 0;
}

Fact Engine::conflict_fact(const Allocation& allocation, Conflict found, Operation later, Operation earlier) const {
    // Both operations say whether the overlap is sure: whoever reads the fact need not know how that was found.
    for (Operation* each : {&later, &earlier}) {
        each->flags = static_cast<std::uint8_t>(found == Conflict::sure ? each->flags | touches_bit : each->flags & ~touches_bit);
    }
    Fact fact(109, writes(later) && writes(earlier) ? FactVariant::CONFLICT_WRITE_WRITE : FactVariant::CONFLICT_READ_WRITE, later);
    fact.with(RelatedRole::ALLOC, allocation.made).with(RelatedRole::USE, earlier);
    fact.allocation = describe(allocation);
    fact.assumed = found != Conflict::sure;
    return fact;
}

void Engine::judge_conflicts(Process& process, const Allocation& allocation, const Stream& stream, const Access& later) {
    const Clock& clock = timeline(stream).clock;
    const bool reads = later.operation.reads_only();
    const auto open = [&](const Placed& use) {
        return use.epoch.slot != stream.timeline && !(reads && use.operation.reads_only()) && !clock.knows(use.epoch, contract);
    };
    bool any = allocation.more_uses != none || allocation.marks.baked || allocation.has_earlier();
    for (std::uint8_t i = 0; i < allocation.inline_uses; ++i) any |= open(allocation.uses[i]);
    if (!any) return;
    const auto judge = [&](const Placed& use, std::uint64_t begin, std::uint64_t end) {
        if (open(use)) judge_conflict(process, allocation, stream, later, {use.operation, begin, end}, use.epoch);
    };
    process.allocations.each_use(allocation, judge);
    process.allocations.each_earlier(allocation, judge);
    if (!allocation.marks.baked) return;
    each_launch(process, allocation, [&](const GraphExec& exec, const Baked& baked) {
        if (clock.knows(exec.last.epoch, contract)) return;
        for (const BakedAccess& each : baked.accesses) {
            judge_conflict(process, allocation, stream, later, launched(each.access, exec.last.operation), exec.last.epoch);
        }
    });
}

void Engine::judge_conflict(const Process& process, const Allocation& allocation, const Stream& stream, const Access& later,
                            const Access& earlier, Epoch earlier_at) {
    if (process.value_ordered || allocation.marks.use_reported || !device_side(allocation.kind)) return;
    const Clock& clock = timeline(stream).clock;
    if (earlier_at.slot == stream.timeline || verdict(clock, earlier_at) != Verdict::unordered) return;
    const Conflict found = conflict_of(later, earlier);
    if (found == Conflict::absent) return;
    Fact fact = conflict_fact(allocation, found, later.operation, earlier.operation);
    fact.may_be_equal = equal_streams(&stream, earlier.operation.stream_name) || maybe_awaited(process, earlier.operation);
    // A host function may have told another thread that the work before it is done.
    fact.assumed |= stream.assumed || names_[earlier.operation.stream_name].assumed || process.host_function > earlier.operation.sequence;
    report(fact);
}

}  // namespace streamsan::order
