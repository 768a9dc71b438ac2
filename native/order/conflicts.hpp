// Whether two accesses to one allocation touch the same bytes, and one of them writes.
#pragma once
#include <cstdint>

#include "facts.hpp"
#include "operation.hpp"
#include "rows.hpp"

namespace streamsan::order {

struct Allocation;

constexpr std::uint8_t touches_bit = bit(SlotFlag::TOUCHES);
constexpr std::uint8_t atomic_or_strided = bit(SlotFlag::ATOMIC);

/// Which part of an allocation an access is to.
struct Part {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;       ///< 0: how far it reaches is not known (kernels)
    const Rows* rows = nullptr;  ///< which bytes, where it is not all of them and that is known
    Bounds bounds = {};          ///< where `end` is not known
};

/// One access. Its operation's flags have the mode of the reference, TOUCHES, and ATOMIC or STRIDED.
struct Access {
    Operation operation;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    const Rows* rows = nullptr;
    Bounds bounds;
    const Operation* node = nullptr;  ///< of a graph's launch: the node that does it

    Access(const Operation& operation_, const Part& part)
        : operation(operation_), begin(part.begin), end(part.end), rows(part.rows), bounds(part.bounds) {}

    [[nodiscard]] Part part() const { return {begin, end, rows, bounds}; }
    [[nodiscard]] bool exact() const { return end != 0; }
    /// Whether it surely touches its first byte.
    [[nodiscard]] bool touches() const { return (operation.flags & touches_bit) != 0; }
    /// Whether its rows may leave bytes of the range untouched, and nobody knows which.
    [[nodiscard]] bool strided() const {
        return exact() && rows == nullptr && (operation.flags & atomic_or_strided) != 0;
    }
    [[nodiscard]] bool atomic() const {
        return (!exact() || rows != nullptr) && (operation.flags & atomic_or_strided) != 0;
    }
    /// Outside of which bytes it surely touches nothing.
    [[nodiscard]] Bounds limits() const { return exact() ? Bounds{begin, end} : bounds; }
    /// Whether it is known which bytes it touches.
    [[nodiscard]] bool plain() const { return exact() && !strided(); }
    [[nodiscard]] Touched touched() const { return {begin, end, rows}; }
    /// Whether it surely touches the byte.
    [[nodiscard]] bool touches(std::uint64_t address) const {
        if (!touches()) return false;
        return address == begin ||
               (plain() && begin <= address && address < end && (rows == nullptr || rows->has(address - begin)));
    }
    /// Sets how far it reaches; `size` bytes, or the rows in them, are all that it touches, where that is known.
    void reach(std::uint64_t size, const Rows* in_rows) {
        if (size != 0 && begin <= UINT64_MAX - size) {
            end = begin + size;
            rows = in_rows;
            operation.flags |= touches_bit;
        } else {
            operation.flags = static_cast<std::uint8_t>(operation.flags & ~atomic_or_strided);
        }
    }
};

/// `likely`: both modes are known, and whatever bytes the one touches, the other touches them too.
enum class Conflict : std::uint8_t { absent, possible, likely, sure };

/// Whether two accesses surely share no byte.
bool never_meet(const Access& one, const Access& other);

/// Streams often partition a buffer in ways that nobody can see: only what surely touches the same byte is sure, and
/// what begins elsewhere is none.
Conflict conflict_of(const Access& one, const Access& other);

/// What two accesses to an allocation are to each other, for memory of its kind.
Conflict conflict_on(const Allocation& allocation, const Access& one, const Access& other);

/// The same for two nodes of one graph: no graph has a node that looks at a sum while another makes it grow.
Conflict conflict_in_graph(const Allocation& allocation, const Access& one, const Access& other);

/// What a host access is to a kernel that may still run, and uses the same memory.
enum class Beside : std::uint8_t { meant, possible, likely, sure };

Beside beside_kernel(const Allocation& allocation, const Access& host, const Access& kernel);

/// Of a recording: whether they may be in each other's way though nobody knows what one of them does.
bool may_conflict_unseen(const Allocation& allocation, const Access& one, const Access& other);

Fact conflict_fact(const Allocation& allocation, Conflict found, const Access& later_access,
                   const Access& earlier_access);

/// What a fact says of an access.
Touch touch_of(const Access& access);

/// Whether an access may be one side of a sure conflict: its mode, and a byte that it touches, are known.
inline bool may_conflict_surely(const Operation& operation) {
    return operation.mode() != AccessMode::OPAQUE && (operation.flags & touches_bit) != 0;
}

/// Whether whatever conflicts for sure with `earlier` conflicts with `later` as well.
bool stands_for(const Access& later, const Access& earlier);

/// Whether `later`, of which only bounds are known, may be in the way of less than `earlier`, which is before it.
inline bool leaves_out(const Access& later, const Access& earlier) {
    return !later.exact() && later.bounds.known() && !later.bounds.holds(earlier.limits());
}

}  // namespace streamsan::order
