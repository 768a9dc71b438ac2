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
