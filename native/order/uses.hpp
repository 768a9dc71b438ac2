// What the engine asks of single uses of memory.
#pragma once
#include <cstdint>

#include "allocations.hpp"

namespace streamsan::order {

inline std::uint64_t end_of(const Reference& reference, const Allocation& allocation) {
    if (reference.size == 0) return allocation.end();
    return reference.address > UINT64_MAX - reference.size ? UINT64_MAX : reference.address + reference.size;
}

/// A host access that overlaps a kernel on mapped memory may be meant (polling, filling); one that overlaps these is
/// not.
inline bool forbids_host_access(OperationKind kind) {
    return kind == OperationKind::COPY || kind == OperationKind::MEMSET || kind == OperationKind::PREFETCH ||
           kind == OperationKind::HOST_FUNCTION;
}

/// Of a graph's launch, only for its copies and fills it is known how far they reach.
inline bool forbids_host_access(const Operation& operation, std::uint64_t end) {
    return forbids_host_access(operation.kind) || (operation.kind == OperationKind::GRAPH_LAUNCH && end != 0);
}

/// Memory of a few words that the host and kernels both see is what they talk by: flags, counters.
inline bool is_flag(const Allocation& allocation) {
    constexpr std::uint64_t cache_line = 64;
    return allocation.size != 0 && allocation.size <= cache_line;
}

/// Whether a read of the host may be one of many, until a kernel writes there: a source's reader says so of conditions
/// of loops (ATOMIC); a recording sees the first one only.
inline bool polls(const Allocation& allocation, const Reference& reference, bool recording) {
    const bool visible = host_side(allocation.kind) && !pageable(allocation.kind);
    if ((reference.flags & bit(SlotFlag::ATOMIC)) != 0) return visible || allocation.kind == MemoryKind::MANAGED;
    return recording && visible && is_flag(allocation);
}

/// Whether the size of its references is what it accesses, not a bound of it.
inline bool exact_extent(OperationKind kind) { return kind == OperationKind::COPY || kind == OperationKind::MEMSET; }

/// Whether the size of its references is a bound of what it accesses.
inline bool bounded_extent(OperationKind kind) {
    return kind == OperationKind::PREFETCH || kind == OperationKind::HOST_FUNCTION;
}

/// Whether remembering `later` makes `earlier` superfluous, given that it happens after it. A use that may not have
/// happened stands for none that has.
inline bool covers(const Operation& later, const Operation& earlier) {
    return (!later.reads_only() || earlier.reads_only()) && (!later.assumed() || earlier.assumed());
}

}  // namespace streamsan::order
