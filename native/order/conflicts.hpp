// Whether two accesses to one allocation touch the same bytes, and one of them writes.
#pragma once
#include <cstdint>

#include "operation.hpp"

namespace streamsan::order {

/// One access. Its operation's flags have the mode, TOUCHES and ATOMIC of the reference.
struct Access {
    Operation operation;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< 0: how far it reaches is not known (kernels)

    [[nodiscard]] bool exact() const { return end != 0; }
};

enum class Conflict : std::uint8_t { absent, possible, sure };

/// Streams often partition a buffer in ways that nobody can see: only what surely touches the same byte is sure, and what
/// begins elsewhere is none.
Conflict conflict_of(const Access& one, const Access& other);

/// Whether an access may be one side of a sure conflict: its mode, and where it is, are known.
inline bool may_conflict_surely(const Operation& operation, bool exact) {
    return operation.mode() != AccessMode::OPAQUE && (exact || (operation.flags & static_cast<std::uint8_t>(SlotFlag::TOUCHES)) != 0);
}

/// Whether whatever conflicts for sure with `earlier` conflicts with `later` as well.
bool stands_for(const Access& later, const Access& earlier);

}  // namespace streamsan::order
